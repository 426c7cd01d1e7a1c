import type { RecordHeaders } from './ports.ts';

/** Of the first header of that name; undefined without one, or when it is null. */
export function headerText(record: { readonly headers?: RecordHeaders } | undefined, name: string): string | undefined {
  return record?.headers?.find(([header]) => header === name)?.[1]?.toString();
}
