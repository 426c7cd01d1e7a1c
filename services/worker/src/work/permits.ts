/**
 * Permits: how many ranges may be worked on at the same time, of a job over all workers, or of all jobs. One is taken before
 * the lease, renewed beside it, and returned after the range. It lives longer than the lease of a worker that died, so that
 * its successor cannot be at work while the store still shows the dead one as owner.
 */
import type { Schedule } from '@tidemark/cursors';
import type { JobDefinition } from '@tidemark/jobs';
import type { Logger } from '@tidemark/observability';
import { PERMIT_TTLS, RENEWALS_PER_TTL } from '../limits.ts';

export interface Permit {
  /** It ran out while the schedule could not be reached, and others have all of them now. */
  readonly isLost: boolean;
  /** Idempotent. */
  giveBack(): Promise<void>;
}

export interface PermitsOptions {
  readonly schedule: Pick<Schedule, 'permit' | 'returnPermit'>;
  /** Ranges at the same time over all jobs and workers; 0 = no limit. */
  readonly rangesMax: number;
  readonly leaseTtlMs: number;
  readonly logger: Logger;
}

export class Permits {
  readonly #options: PermitsOptions;

  constructor(options: PermitsOptions) {
    this.#options = options;
  }

  isNeeded(job: JobDefinition): boolean {
    return job.concurrency > 0 || this.#options.rangesMax > 0;
  }

  /** Undefined when all are taken. */
  async take(job: JobDefinition, slot: string): Promise<Permit | undefined> {
    const { schedule, rangesMax, leaseTtlMs, logger } = this.#options;
    const { jobId } = job;
    const request = { jobId, slot, jobMax: job.concurrency, allMax: rangesMax, ttlMs: leaseTtlMs * PERMIT_TTLS };
    const answer = await schedule.permit(request);
    if (answer.kind === 'full') return undefined;
    let isLost = false;
    let isBack = false;
    const renew = async (): Promise<void> => {
      try {
        const renewed = await schedule.permit(request);
        isLost = renewed.kind === 'full';
        // The renewal may have been on its way while it was given back.
        if (isBack) await schedule.returnPermit({ jobId, slot });
      } catch (error) {
        logger.debug({ error, jobId, slot }, 'permit.renew_failed');
      }
    };
    const renewals = setInterval(() => void renew(), leaseTtlMs / RENEWALS_PER_TTL);
    return {
      get isLost() {
        return isLost;
      },
      async giveBack() {
        clearInterval(renewals);
        isBack = true;
        try {
          await schedule.returnPermit({ jobId, slot });
        } catch (error) {
          // Then it ends by itself.
          logger.debug({ error, jobId, slot }, 'permit.not_given_back');
        }
      },
    };
  }
}
