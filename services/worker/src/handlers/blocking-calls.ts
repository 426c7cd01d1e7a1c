/**
 * Handlers that keep the event loop busy for longer than a lease bears: renewals, wake-ups and signals of the whole worker
 * wait as long. They are named, and the next batches of such a job are cut so that one call takes a part of the lease.
 * Without the cut two workers could take one range from each other for ever, each fenced out when its batch is done.
 */
import { remember } from '@tidemark/keyspace';
import type { Logger } from '@tidemark/observability';
import { BLOCKING_MAX_PART, BLOCKING_TARGET_PART, REMEMBERED_JOBS_MAX } from '../limits.ts';

export interface Call {
  readonly jobId: string;
  readonly handler: string;
  readonly records: number;
  /** For how long nothing else could run. */
  readonly ms: number;
}

/** One for all slots of a worker. */
export class BlockingCalls {
  readonly #leaseTtlMs: number;
  readonly #logger: Logger;
  /** Records that one call of a job's handler may get. A Map keeps the order of insertion. */
  readonly #recordsMax = new Map<string, number>();

  constructor(options: { readonly leaseTtlMs: number; readonly logger: Logger }) {
    this.#leaseTtlMs = options.leaseTtlMs;
    this.#logger = options.logger;
  }

  recordsMax(jobId: string): number {
    return this.#recordsMax.get(jobId) ?? Number.POSITIVE_INFINITY;
  }

  /** What to say of the range, when the call took longer than the lease allows. */
  saw({ jobId, handler, records, ms }: Call): string | undefined {
    if (ms < this.#leaseTtlMs * BLOCKING_MAX_PART) return undefined;
    const blockedMs = Math.round(ms);
    const before = this.recordsMax(jobId);
    const recordsMax = Math.max(1, Math.floor((records * this.#leaseTtlMs * BLOCKING_TARGET_PART) / ms));
    if (recordsMax < before) {
      remember(this.#recordsMax, { key: jobId, value: recordsMax, max: REMEMBERED_JOBS_MAX });
      this.#logger.warn(
        { jobId, handler, blockedMs, leaseTtlMs: this.#leaseTtlMs, records, recordsMax },
        'handler.blocked_event_loop',
      );
    }
    return `slow: handler ${handler} blocked its worker for ${blockedMs} ms, a lease lasts ${this.#leaseTtlMs} ms`;
  }
}
