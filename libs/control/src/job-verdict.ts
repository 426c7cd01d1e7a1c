/** What a job's state means for somebody who waits for it. */
import type { JobState } from '@tidemark/contracts';
import { CompletedReason, JobPhase } from '@tidemark/jobs';

export const JobVerdict = {
  /** Asked for; not pinned and accepted yet. */
  requested: 'requested',
  running: 'running',
  /** Being paused or cancelled: what is being handled is still settled. */
  stopping: 'stopping',
  /** Goes on only when a person says so, as it was a person that stopped it. */
  paused: 'paused',
  /** Goes on only when a person says so, who should look why it was stopped. */
  suspended: 'suspended',
  clean: 'clean',
  /** Complete, but somebody must look: dead letters or loss. */
  withFaults: 'with faults',
  /** Complete by its word, but its counters do not account for every offset: nothing of it is to be believed. */
  doesNotAddUp: 'does not add up',
  cancelled: 'cancelled',
  unrecoverable: 'unrecoverable',
  refused: 'refused',
} as const;
export type JobVerdict = (typeof JobVerdict)[keyof typeof JobVerdict];

export function jobVerdictOf({ state, reason, totals }: Pick<JobState, 'state' | 'reason' | 'totals'>): JobVerdict {
  switch (state) {
    case JobPhase.requested:
    case JobPhase.pinning:
      return JobVerdict.requested;
    case JobPhase.completed:
      if (reason === CompletedReason.doesNotAddUp) return JobVerdict.doesNotAddUp;
      return reason === CompletedReason.clean && (totals === null || (totals.deadLettered === 0n && totals.lost === 0n))
        ? JobVerdict.clean
        : JobVerdict.withFaults;
    case JobPhase.pausing:
    case JobPhase.cancelling:
      return JobVerdict.stopping;
    case JobPhase.paused:
      return JobVerdict.paused;
    case JobPhase.suspended:
      return JobVerdict.suspended;
    case JobPhase.cancelled:
      return JobVerdict.cancelled;
    case JobPhase.unrecoverable:
      return JobVerdict.unrecoverable;
    case JobPhase.refused:
      return JobVerdict.refused;
    default:
      // RUNNING, and whatever word a newer distributor writes: not over.
      return JobVerdict.running;
  }
}

/** No event will change it any more. */
export function isOver(verdict: JobVerdict): boolean {
  return OVER.has(verdict);
}

/** No worker can move it: only an order lets it go on. */
export function needsPerson(verdict: JobVerdict): boolean {
  return verdict === JobVerdict.paused || verdict === JobVerdict.suspended;
}

const OVER: ReadonlySet<JobVerdict> = new Set([
  JobVerdict.clean,
  JobVerdict.withFaults,
  JobVerdict.doesNotAddUp,
  JobVerdict.cancelled,
  JobVerdict.unrecoverable,
  JobVerdict.refused,
]);
