/**
 * The hold for an audit: the log keeps the whole window of a job until an audit has proved it, or a deadline.
 *
 *     requested with a time T --accepted--> held, as long as the job has not ended   (-1)
 *                                             | ended at t, however
 *                                             v
 *                                           held until t + T --released by a command, or t + T has come--> not held (0)
 *
 * It is a floor of its own, `audit:JOB`, at the start of the window in every partition, beside that of the job, which rises
 * as the job gets on. It is there from the acceptance on, because a window whose beginning may be cut while the job runs
 * cannot be audited at its end; and nothing has to be handed over at the end, when a death in between could lose it.
 * Two floors tell whoever looks what the job needs and what only the proof does.
 *
 * A job that can be audited is held however it ended: whoever cancelled it, or lost records, wants to know what it did all
 * the more. One that never had a window (REFUSED), or an empty one, holds nothing.
 */
import type { JobState } from '@tidemark/contracts';

/** `heldForAuditUntilMs` of a job that has not ended. */
const UNTIL_THE_END = -1n;
const NOT_HELD = 0n;

const PREFIX = 'audit:';

/** The name under which floors are held; no job can have it, because an id has no colon. */
export function auditHolderOf(jobId: string): string {
  return `${PREFIX}${jobId}`;
}

/** The job of such a name; undefined of every other holder. */
export function auditedJobOf(holder: string): string | undefined {
  return holder.startsWith(PREFIX) ? holder.slice(PREFIX.length) : undefined;
}

/** Whoever holds something for a job: it itself, or its hold. */
export function jobOfHolder(holder: string): string {
  return auditedJobOf(holder) ?? holder;
}

export function isHeldForAudit({ heldForAuditUntilMs }: Pick<JobState, 'heldForAuditUntilMs'>): boolean {
  return heldForAuditUntilMs !== NOT_HELD;
}

/** Epoch ms; undefined while the job has not ended, and when it is not held. */
export function auditDeadlineOf({ heldForAuditUntilMs }: Pick<JobState, 'heldForAuditUntilMs'>): bigint | undefined {
  return heldForAuditUntilMs > NOT_HELD ? heldForAuditUntilMs : undefined;
}

export function holdAtRequest({ holdForAuditMs }: JobState['request']): bigint {
  return holdForAuditMs > 0n ? UNTIL_THE_END : NOT_HELD;
}

/** One that was released while the job ran stays so. */
export function holdAtEnd({ request, pin, heldForAuditUntilMs }: JobState, endedAtMs: bigint): bigint {
  const isEmpty = pin === null || pin.partitions.every(({ start, end }) => end <= start);
  return heldForAuditUntilMs === NOT_HELD || isEmpty ? NOT_HELD : endedAtMs + request.holdForAuditMs;
}
