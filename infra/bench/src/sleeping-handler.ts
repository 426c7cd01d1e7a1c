/** The handler of the blocking work: stands for a push to a service that answers after 5 ms and takes 100 calls at once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandler, done, type RawHandler } from '@tidemark/handlers';
import { BLOCKING_CONCURRENCY, BLOCKING_SLEEP_MS } from './limits.ts';
import { createPermits } from './permits.ts';

export interface SleepingHandler {
  readonly handler: RawHandler;
  totals(): { readonly records: number; readonly valueBytes: number };
  /** The most calls at once, and what one took: neither may be better than the work asks for. */
  calls(): { readonly most: number; readonly mean_ms: number };
}

export function createSleepingHandler(): SleepingHandler {
  let records = 0;
  let valueBytes = 0;
  const permits = createPermits(BLOCKING_CONCURRENCY);
  let sleptMs = 0;
  const handler = defineHandler({
    name: 'sleep',
    input: 'raw',
    idempotent: true,
    // This counts for each range, and several are worked on at once; like a pool of connections, the permits count for all.
    concurrency: BLOCKING_CONCURRENCY,
    handle: async ({ value }) => {
      await permits.take();
      const beganMs = performance.now();
      await sleep(BLOCKING_SLEEP_MS);
      sleptMs += performance.now() - beganMs;
      permits.give();
      records += 1;
      valueBytes += value?.length ?? 0;
      return done();
    },
  });
  return {
    handler,
    totals: () => ({ records, valueBytes }),
    calls: () => ({ most: permits.mostTaken, mean_ms: sleptMs / records }),
  };
}
