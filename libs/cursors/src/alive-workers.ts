import { WORKER_SILENT_AFTER_MS } from './limits.ts';
import type { WorkerAnnouncement } from './schedule-ports.ts';

/** Those that announced themselves lately, as far as the schedule tells; both times are the store's clock. */
export function aliveWorkers<Known extends WorkerAnnouncement & { readonly atMs: number }>(
  workers: readonly Known[],
  storeNowMs: number,
): readonly Known[] {
  return workers.filter(({ atMs }) => storeNowMs - atMs <= WORKER_SILENT_AFTER_MS);
}
