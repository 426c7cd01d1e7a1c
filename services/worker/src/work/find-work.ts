/**
 * Finds a range for a slot: a job from the schedule (least recently served first), a candidate of that job, a permit if the
 * job or the worker wants one, the lease. Schedule and candidates are hints; only the lease decides, and a range that somebody
 * else has is simply passed.
 */
import type { CallId, Candidate, CursorStore, Schedule } from '@tidemark/cursors';
import type { Handler } from '@tidemark/handlers';
import { decodeDefinition, hintOf, type JobDefinition, waitingNote } from '@tidemark/jobs';
import { describeError, rangeIdOf, remember } from '@tidemark/keyspace';
import type { Logger } from '@tidemark/observability';
import type { Clock } from '../clock.ts';
import type { HandlerSet } from '../handlers/handler-set.ts';
import type { Grant } from '../lease/grant.ts';
import { CANDIDATES_MAX, LOOKED_AT_MAX, PROPOSALS_MAX, REMEMBERED_JOBS_MAX } from '../limits.ts';
import type { Breakers } from '../pace/breakers.ts';
import type { Turns } from '../pace/turns.ts';
import { type Eligibility, eligibilityOf } from './eligibility.ts';
import type { Permit, Permits } from './permits.ts';

export interface Work {
  readonly job: JobDefinition;
  readonly handler: Handler;
  readonly grant: Grant;
  /** Undefined when nothing limits the ranges at the same time. */
  readonly permit: Permit | undefined;
}

/** Whoever looks for work: the name of the slot is that of its permits. */
export interface Seeker {
  readonly slot: string;
  readonly nextCall: () => CallId;
}

export interface WorkFinderOptions {
  readonly schedule: Schedule;
  readonly store: CursorStore;
  readonly handlers: HandlerSet;
  readonly permits: Permits;
  readonly breakers: Breakers;
  readonly turns: Turns;
  readonly leaseTtlMs: number;
  /** The newest format of a job that this worker understands. */
  readonly formatMax: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface KnownJob {
  readonly text: string;
  readonly job: JobDefinition | undefined;
  readonly eligibility: Eligibility;
}

/** One for all slots of a worker, so that they do not run after the same range. */
export class WorkFinder {
  readonly #options: WorkFinderOptions;
  readonly #taken = new Set<string>();
  /** Definitions seen lately: parsed once, complained about once. */
  readonly #known = new Map<string, KnownJob>();

  constructor(options: WorkFinderOptions) {
    this.#options = options;
  }

  /** Undefined when there is nothing to do for this worker now. What was found must be given back with `done`. */
  async find(seeker: Seeker, stop: AbortSignal): Promise<Work | undefined> {
    // Proposing marks as served, so it is asked for one job first: of several, only the first would get its turn, and
    // always the same one. That one may have nothing to lease now while others have; then for several, until all had a look.
    for (let lookedAt = 0, limit = 1; ; limit = PROPOSALS_MAX) {
      const { jobs, listedCount } = await this.#options.schedule.propose({ limit });
      this.#options.turns.listed(listedCount);
      for (const proposal of jobs) {
        const work = await this.#tryJob(proposal, seeker, stop);
        if (work !== undefined || stop.aborted) return work;
      }
      lookedAt += jobs.length;
      if (jobs.length === 0 || lookedAt >= Math.min(listedCount, LOOKED_AT_MAX)) return undefined;
    }
  }

  done(grant: Grant): void {
    this.#taken.delete(placeOf(grant));
  }

  async #tryJob(
    { jobId, definition }: { readonly jobId: string; readonly definition: string },
    seeker: Seeker,
    stop: AbortSignal,
  ): Promise<Work | undefined> {
    const { job, eligibility } = this.#know(jobId, definition);
    if (job === undefined || eligibility.kind !== 'eligible') return undefined;
    const { handler } = eligibility;
    const { breakers, schedule, store, permits } = this.#options;
    const waiting = breakers.waiting(handler.name);
    if (waiting !== undefined) {
      await schedule.noteWaiting({ jobId, reason: hintOf(waitingNote.breaker(waiting.dependency)) });
      return undefined;
    }
    const candidates = await store.candidates({ jobId, limit: CANDIDATES_MAX });
    const free = candidates.filter(({ range }) => !this.#taken.has(placeOf({ jobId, range })));
    if (free.length === 0 || stop.aborted) return undefined;
    const permit = permits.isNeeded(job) ? await permits.take(job, seeker.slot) : undefined;
    if (permits.isNeeded(job) && permit === undefined) return undefined;
    let grant: Grant | undefined;
    try {
      grant = await this.#lease(jobId, free, seeker, stop);
    } finally {
      if (grant === undefined) await permit?.giveBack();
    }
    return grant && { job, handler, grant, permit };
  }

  async #lease(
    jobId: string,
    candidates: readonly Candidate[],
    { nextCall }: Seeker,
    stop: AbortSignal,
  ): Promise<Grant | undefined> {
    const { store, leaseTtlMs, clock } = this.#options;
    for (const { range } of candidates) {
      const place = placeOf({ jobId, range });
      if (this.#taken.has(place)) continue;
      if (stop.aborted) return undefined;
      // Marked before the question is sent: another slot of this worker must not ask for the same one meanwhile.
      this.#taken.add(place);
      let grant: Grant | undefined;
      try {
        const since = clock.now();
        const answer = await store.lease({ call: nextCall(), jobId, range, leaseTtlMs });
        if (answer.kind === 'incomplete' || answer.kind === 'not running') return undefined;
        if (answer.kind !== 'granted') continue;
        const { token, cursor, end, parkedCount } = answer;
        grant = { jobId, range, token, cursor, end, parkedCount, since };
        return grant;
      } finally {
        if (grant === undefined) this.#taken.delete(place);
      }
    }
    return undefined;
  }

  #know(jobId: string, text: string): KnownJob {
    const known = this.#known.get(jobId);
    if (known?.text === text) return known;
    const fresh = this.#read(text);
    remember(this.#known, { key: jobId, value: fresh, max: REMEMBERED_JOBS_MAX });
    if (fresh.eligibility.kind === 'not eligible') {
      this.#options.logger.warn({ jobId, reason: fresh.eligibility.reason }, 'job.not_eligible');
    }
    return fresh;
  }

  #read(text: string): KnownJob {
    try {
      const job = decodeDefinition(text);
      const { formatMax } = this.#options;
      if (job.formatVersion > formatMax) return notEligible(text, newerFormat(job, formatMax));
      return { text, job, eligibility: eligibilityOf(job, this.#options.handlers.get(job.handler)) };
    } catch (error) {
      return notEligible(text, describeError(error));
    }
  }
}

function notEligible(text: string, reason: string): KnownJob {
  return { text, job: undefined, eligibility: { kind: 'not eligible', reason } };
}

function newerFormat({ jobId, formatVersion }: JobDefinition, formatMax: number): string {
  return `job ${jobId} is in format ${formatVersion}, this worker knows up to ${formatMax}: update it`;
}

function placeOf(range: Pick<Grant, 'jobId' | 'range'>): string {
  return `${range.jobId}/${rangeIdOf(range.range)}`;
}
