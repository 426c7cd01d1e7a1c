/** Entries of the audit trail. */
import type { JobEvent, JobState, ReleasedFloor } from '@tidemark/contracts';
import { RELEASES_NAMED_MAX } from './limits.ts';

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

/** What a guard gave up, as a sentence; of many partitions the first. */
export function releasedText(floors: readonly ReleasedFloor[]): string {
  const places = floors
    .slice(0, RELEASES_NAMED_MAX)
    .map(
      ({ partition, fromOffset, ofAudit }) => `${partition} from ${fromOffset} on${ofAudit ? ' (for its audit)' : ''}`,
    );
  const more = floors.length > places.length ? ` and ${floors.length - places.length} more` : '';
  return `the log was held for too long and is released in partition ${places.join(', ')}${more}: what was not read there by then may be gone`;
}
