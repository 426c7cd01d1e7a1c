/** How long a job may hold a log against its policy: `orders=3d,chat=3d/7d`. Pure. */
import type { JobState, SeriesState } from '@tidemark/contracts';
import type { FloorLook } from '@tidemark/cursors';
import { auditedJobOf, holderOf, isHeldForAudit, isTerminal, jobOfHolder, SeriesStatus } from '@tidemark/jobs';
import { isTopicName, type Offset } from '@tidemark/keyspace';
import { parseAge } from './policy.ts';

export interface HoldLimit {
  /** From its pin on; after it the guard raises an alarm. */
  readonly alarmMs: number;
  /** After it the job's floor holds nothing any more; undefined = it is kept for ever. */
  readonly releaseMs: number | undefined;
}

/** By topic. */
export type HoldLimits = ReadonlyMap<string, HoldLimit>;

export type HoldsParse =
  | { readonly kind: 'parsed'; readonly holds: HoldLimits }
  | { readonly kind: 'faults'; readonly faults: readonly string[] };

const HINT = 'say after what time as 3d, or 3d/7d to release what is held after the second one (ms, s, m, h, d, w)';

export function parseHolds(text: string): HoldsParse {
  const holds = new Map<string, HoldLimit>();
  const faults: string[] = [];
  for (const entry of text.split(',').map((each) => each.trim())) {
    if (entry === '') continue;
    const [topic = '', times, ...more] = entry.split('=').map((each) => each.trim());
    const [alarm, release, ...others] = (times ?? '').split('/').map(parseAge);
    const isKept = times?.includes('/') !== true;
    if (
      !isTopicName(topic) ||
      more.length > 0 ||
      others.length > 0 ||
      alarm === undefined ||
      (!isKept && release === undefined)
    )
      faults.push(`${JSON.stringify(entry)} is not topic=time; ${HINT}`);
    else if (holds.has(topic)) faults.push(`topic ${topic} is named twice`);
    else if (release !== undefined && release < alarm) faults.push(`topic ${topic} would be released before its alarm`);
    else holds.set(topic, { alarmMs: alarm, releaseMs: release });
  }
  return faults.length > 0 ? { kind: 'faults', faults } : { kind: 'parsed', holds };
}

/** A job, its hold for an audit, or a series that was stopped, that holds what the policy would remove, for longer than it may. */
export interface Overdue {
  readonly holder: string;
  readonly floor: Offset;
  /** Epoch ms, when it was pinned, or stopped. */
  readonly sinceMs: bigint;
}

/** A series is meant to hold, unless it was stopped and nobody resumes or deletes it; since when a group does nobody knows. */
export function overdueAt(facts: {
  readonly look: FloorLook | undefined;
  readonly states: ReadonlyMap<string, JobState>;
  /** Left out where only jobs are asked for. */
  readonly series?: ReadonlyMap<string, SeriesState>;
  /** Below which the policy would cut. */
  readonly target: Offset;
  readonly afterMs: number | undefined;
  readonly nowMs: number;
}): readonly Overdue[] {
  const { look, states, series, target, afterMs, nowMs } = facts;
  if (afterMs === undefined) return [];
  const stoppedAtMs = new Map<string, bigint>();
  for (const state of series?.values() ?? [])
    if (state.status === SeriesStatus.stopped) stoppedAtMs.set(holderOf(state.series), state.updatedAtMs);
  const overdue: Overdue[] = [];
  for (const { holder, offset, reservedUntilMs } of look?.floors ?? []) {
    const state = states.get(jobOfHolder(holder));
    const sinceMs = state === undefined ? stoppedAtMs.get(holder) : state.pin?.pinnedAtMs;
    if (sinceMs === undefined || reservedUntilMs !== undefined || !mayHold(holder, state)) continue;
    if (offset < target && BigInt(nowMs) - sinceMs > BigInt(afterMs)) overdue.push({ holder, floor: offset, sinceMs });
  }
  return overdue;
}

/** Whether it holds something by right; else its floor goes away by itself. */
export function mayHold(holder: string, state: JobState | undefined): boolean {
  if (state === undefined) return true;
  return auditedJobOf(holder) === undefined ? !isTerminal(state.state) : isHeldForAudit(state);
}
