/** What makes two requests the same wish: everything but who sent it and in which version of the format. */
import type { JobRequested } from '@tidemark/contracts';

/** Text that is equal for equal content. The map's order and absent-by-default fields do not matter: the codec fills them. */
export function contentOf(request: JobRequested): string {
  const { formatVersion: _version, requestedBy: _sender, parameters, ...rest } = request;
  const content = { ...rest, parameters: sortedEntries(parameters) };
  return JSON.stringify(sortedEntries(content), (_name, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

export function isSameContent(a: JobRequested, b: JobRequested): boolean {
  return contentOf(a) === contentOf(b);
}

function sortedEntries(fields: Readonly<Record<string, unknown>>): readonly (readonly [string, unknown])[] {
  return Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
