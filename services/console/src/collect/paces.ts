/** How fast jobs and their ranges go, from looks at their cursors. */
import { createPaceMeter, type Pace, STILL, settledProgress } from '@tidemark/control';
import type { RangeState } from '@tidemark/cursors';
import { rangeIdOf } from '@tidemark/keyspace';

type Meter = ReturnType<typeof createPaceMeter>;

interface Measured {
  readonly meter: Meter;
  pace: Pace;
  looks: number;
}

export interface Paces {
  /** `nowMs` is monotonic. Jobs and ranges that are not there any more are forgotten. */
  observe(nowMs: number, jobs: ReadonlyMap<string, readonly RangeState[]>): void;
  /** Undefined before two looks: nobody knows then. */
  ofJob(jobId: string): Pace | undefined;
  ofRange(jobId: string, range: Pick<RangeState, 'partition' | 'start'>): Pace | undefined;
}

export function createPaces(): Paces {
  let measured = new Map<string, Measured>();
  const read = (key: string): Pace | undefined => {
    const found = measured.get(key);
    return found === undefined || found.looks < 2 ? undefined : found.pace;
  };
  return {
    observe(nowMs, jobs) {
      const next = new Map<string, Measured>();
      const note = (key: string, ranges: readonly RangeState[]): void => {
        const known = measured.get(key) ?? { meter: createPaceMeter(), pace: STILL, looks: 0 };
        known.pace = known.meter.observe(nowMs, settledProgress(ranges));
        known.looks += 1;
        next.set(key, known);
      };
      for (const [jobId, ranges] of jobs) {
        note(jobId, ranges);
        // Only who is worked on moves, and workers have few slots: a job may have ten thousand ranges.
        for (const range of ranges) if (range.owner !== '') note(keyOf(jobId, range), [range]);
      }
      measured = next;
    },
    ofJob: (jobId) => read(jobId),
    ofRange: (jobId, range) => read(keyOf(jobId, range)),
  };
}

/** Job ids have no space. */
function keyOf(jobId: string, range: Pick<RangeState, 'partition' | 'start'>): string {
  return `${jobId} ${rangeIdOf(range)}`;
}
