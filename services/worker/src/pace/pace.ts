/**
 * How fast a job may go: its own rate and that of its handler, each a bucket that all workers share. Records are booked
 * before they are handled.
 */
import type { Schedule } from '@tidemark/cursors';
import type { Handler } from '@tidemark/handlers';
import type { JobDefinition } from '@tidemark/jobs';
import { HOLD_MS, RATE_CHUNK_MS } from '../limits.ts';

interface Bucket {
  readonly bucket: string;
  readonly perSecond: number;
}

export type Booking =
  /** The records may be handled that long from now. */
  | { readonly kind: 'booked'; readonly waitMs: number }
  /** It would take longer than a range is held for; whatever is booked later is not pushed back by it. */
  | { readonly kind: 'too long'; readonly waitMs: number };

const NOW: Booking = { kind: 'booked', waitMs: 0 };

export class Pace {
  readonly #schedule: Pick<Schedule, 'bookRate'>;
  readonly #buckets: readonly Bucket[];

  constructor(schedule: Pick<Schedule, 'bookRate'>, job: JobDefinition, handler: Handler) {
    this.#schedule = schedule;
    this.#buckets = [
      ...(job.rate > 0 ? [{ bucket: `job:${job.jobId}`, perSecond: job.rate }] : []),
      ...(handler.rate === undefined ? [] : [{ bucket: `handler:${handler.name}`, perSecond: handler.rate }]),
    ];
  }

  /** The records that may be taken at once, so that none of them takes more than a moment of the rate. */
  recordsMax(wanted: number): number {
    const paced = this.#buckets.map(({ perSecond }) => Math.max(1, Math.floor((perSecond * RATE_CHUNK_MS) / 1_000)));
    return Math.min(wanted, ...paced);
  }

  /** Undefined when nothing limits the pace: no promise is made then. */
  book(records: number): Promise<Booking> | undefined {
    return this.#buckets.length === 0 || records === 0 ? undefined : this.#book(records);
  }

  async #book(records: number): Promise<Booking> {
    let booking = NOW;
    for (const bucket of this.#buckets) {
      const { waitMs } = await this.#schedule.bookRate({ ...bucket, records, waitMsMax: HOLD_MS });
      if (waitMs > HOLD_MS) return { kind: 'too long', waitMs };
      if (waitMs > booking.waitMs) booking = { kind: 'booked', waitMs };
    }
    return booking;
  }
}
