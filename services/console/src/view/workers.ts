/** Workers by their announcements: pure. */
import { RangeWord, wordOfRange } from '@tidemark/control';
import { aliveWorkers } from '@tidemark/cursors';
import type { Sight } from '../collect/collector.ts';
import { knownValue } from '../collect/feed.ts';
import type { Work } from '../collect/work.ts';
import type { Workers } from './schemas.ts';
import { instant, reasonOf, secondsOf } from './words.ts';

export function workersView(sight: Sight): Workers {
  const work = knownValue(sight.work);
  const view = { asOf: instant(sight.nowMs), unknown: reasonOf(sight.work) };
  if (work === undefined) return { ...view, alive: null, workers: [] };
  const held = leasesByWorker(work);
  const alive = new Set(aliveWorkers(work.workers, work.storeNowMs));
  const workers = work.workers
    .map((worker) => ({
      workerId: worker.workerId,
      host: worker.host,
      pid: worker.pid,
      state: alive.has(worker) ? 'alive' : 'silent',
      seenSecondsAgo: Math.max(0, secondsOf(work.storeNowMs - worker.atMs)),
      handlers: worker.handlers.map(({ name, idempotent }) => ({ name, idempotent })),
      ranges: held.get(worker.workerId) ?? 0,
    }))
    .sort((a, b) => (a.state === b.state ? (a.workerId < b.workerId ? -1 : 1) : a.state === 'alive' ? -1 : 1));
  return { ...view, alive: alive.size, workers };
}

/** An owner is a slot of a worker: `<worker>/<slot>`. */
function leasesByWorker({ ranges, storeNowMs }: Work): ReadonlyMap<string, number> {
  const held = new Map<string, number>();
  for (const range of [...ranges.values()].flat()) {
    if (wordOfRange(range, storeNowMs) !== RangeWord.working) continue;
    const worker = range.owner.replace(/\/[^/]*$/, '');
    held.set(worker, (held.get(worker) ?? 0) + 1);
  }
  return held;
}
