/** Entries of the audit trail. */
import type { JobEvent, JobState } from '@tidemark/contracts';

export interface TransitionTime {
  readonly atMs: bigint;
  /** Who writes, for the audit trail. */
  readonly actor: string;
}

export function journal(
  state: Pick<JobState, 'jobId'>,
  kind: string,
  time: TransitionTime,
  details: Partial<Pick<JobEvent, 'reason' | 'pin' | 'totals'>> = {},
): JobEvent {
  return {
    formatVersion: 1,
    jobId: state.jobId,
    kind,
    atMs: time.atMs,
    actor: time.actor,
    reason: '',
    pin: null,
    totals: null,
    ...details,
  };
}
