/** The built-in that does nothing but look at every record: for rehearsals, for audits of a window, and for benchmarks. */
import { defineHandler } from './define-handler.ts';
import { done, type RawHandler } from './handler.ts';

export interface CountHandler {
  readonly handler: RawHandler;
  /** What this process has seen; records that were delivered again are counted again. */
  totals(): { readonly records: number; readonly valueBytes: number };
}

/** Takes the whole chunk in one call and answers with one shared outcome, so it allocates nothing per record. */
export function createCountHandler(): CountHandler {
  let records = 0;
  let valueBytes = 0;
  const handler = defineHandler({
    name: 'count',
    input: 'raw',
    idempotent: true,
    handleBatch: (events) => {
      records += events.length;
      for (const event of events) valueBytes += event.value?.length ?? 0;
      return done();
    },
  });
  return { handler, totals: () => ({ records, valueBytes }) };
}
