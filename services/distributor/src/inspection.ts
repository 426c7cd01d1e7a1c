/** What one look at a job in the store means. Pure: the shell looks, this decides, the shell acts. */
import type { JobState, RangeCheckpoint } from '@tidemark/contracts';
import { JobMode, type RangeState } from '@tidemark/cursors';
import {
  breakerIn,
  exhaustedIn,
  identityFaults,
  JobPhase,
  type Outcome,
  openTransactionIn,
  outcomeOf,
  tilingFaults,
  usedUp,
} from '@tidemark/jobs';
import { rangeIdOf, sumCounters } from '@tidemark/keyspace';
import type { BreakerWait } from './breaker-waits.ts';
import type { LiveJob } from './job-book.ts';
import { checkpointOf } from './ranges.ts';

export interface Snapshot {
  readonly mode: JobMode;
  readonly ranges: readonly RangeState[];
}

export interface LookOptions {
  readonly nowMs: number;
  readonly openTransactionDeadlineMs: number;
  readonly breakerDeadlineMs: number;
  /** How long what is being handled is waited for before a job is suspended, and since when; undefined = not yet. */
  readonly drainDeadlineMs: number;
  readonly settlingSinceMs?: number | undefined;
  /** What workers say of the job although they hold no range of it. */
  readonly breakerWait?: BreakerWait | undefined;
}

export type Inspection =
  /** The store does not hold what is durable: it lost it or went back. Fill it again. */
  | { readonly kind: 'restore'; readonly why: string }
  | {
      readonly kind: 'looked';
      /** Ranges that moved since their last checkpoint, and those that came by a split. */
      readonly changed: readonly RangeCheckpoint[];
      readonly next: NextForJob;
      /** Something was settled since the last checkpoint. */
      readonly hasMoved: boolean;
      /** Ranges that closed since the last look and whose numbers do not add up (P10), as sentences. */
      readonly faults: readonly string[];
    };

export type NextForJob =
  | { readonly kind: 'go on' }
  /** The store holds the job in another mode than its durable state says: a step was interrupted. */
  | { readonly kind: 'align' }
  /** To be suspended, as soon as what is being handled is settled. */
  | { readonly kind: 'let settle' }
  | { readonly kind: 'suspend'; readonly reason: string }
  /** It is being paused or cancelled, and what is still handled is waited for no longer. */
  | { readonly kind: 'halt'; readonly how: string }
  | { readonly kind: 'end'; readonly outcome: Outcome };

export function inspect(job: LiveJob, snapshot: Snapshot | undefined, options: LookOptions): Inspection {
  if (snapshot === undefined) return { kind: 'restore', why: 'the store does not hold the job' };
  const why = wentBack(job, snapshot.ranges) ?? tilingFaults(job.windows, snapshot.ranges)[0];
  if (why !== undefined) return { kind: 'restore', why };
  const hasMoved = snapshot.ranges.some((range) => settledIn(range) > settledIn(lastOf(job, range) ?? atStart(range)));
  // What one worker cannot reach is no reason to stop those who can.
  const next = nextFor(job, snapshot, hasMoved ? { ...options, breakerWait: undefined } : options);
  return {
    kind: 'looked',
    changed: mustWait(job, snapshot, next) ? [] : changedRanges(job, snapshot.ranges, BigInt(options.nowMs)),
    next,
    hasMoved,
    faults: identityFaults(snapshot.ranges.filter((range) => range.status !== 'open' && isChanged(job, range))),
  };
}

/**
 * The record that a suspension is for must not be in a checkpoint before it: from then on it is taken for the one that a
 * resume forgave. All ranges wait with it, because a range that was cut is durable only together with its parts: without them
 * it would seem to be done up to the end that it had before.
 */
function mustWait(job: LiveJob, { ranges }: Snapshot, next: NextForJob): boolean {
  return next.kind === 'let settle' && exhausted(job, ranges) !== undefined;
}

/** What the store must let workers do, by what is durable. */
export function modeOf({ state }: JobState): JobMode {
  switch (state) {
    case JobPhase.running:
      return JobMode.running;
    case JobPhase.pausing:
    case JobPhase.cancelling:
      return JobMode.draining;
    default:
      return JobMode.halted;
  }
}

export function changedRanges(job: LiveJob, ranges: readonly RangeState[], atMs: bigint): readonly RangeCheckpoint[] {
  return ranges.filter((range) => isChanged(job, range)).map((range) => checkpointOf(job.jobId, range, atMs));
}

function isChanged(job: LiveJob, range: RangeState): boolean {
  return lastOf(job, range)?.version !== range.version;
}

function lastOf(job: LiveJob, range: RangeState): RangeCheckpoint | undefined {
  return job.checkpoints.get(rangeIdOf(range));
}

interface Passed {
  readonly cursor: bigint;
  readonly parked: readonly unknown[];
}

function atStart({ start }: RangeState): Passed {
  return { cursor: start, parked: [] };
}

/** Up to a constant: what a range has settled. */
function settledIn({ cursor, parked }: Passed): bigint {
  return cursor - BigInt(parked.length);
}

/**
 * A store behind an acknowledged checkpoint has forgotten something. Believing it could un-settle what the log may no
 * longer hold, and turn what is done into a verdict of loss. A range that is missing altogether was split off: without it
 * the one before would seem to reach up to the next, with all that was settled there to be done again.
 */
function wentBack(job: LiveJob, ranges: readonly RangeState[]): string | undefined {
  const missing = new Set(job.checkpoints.keys());
  for (const range of ranges) {
    const rangeId = rangeIdOf(range);
    const known = job.checkpoints.get(rangeId);
    missing.delete(rangeId);
    if (known === undefined) continue;
    if (range.cursor < known.cursor) return `range ${rangeId} is at ${range.cursor}, its checkpoint at ${known.cursor}`;
    if (range.version < known.version) return `range ${rangeId} is older than its checkpoint`;
  }
  const [first] = missing;
  return first === undefined ? undefined : `range ${first} has a checkpoint, but is not there`;
}

function nextFor(job: LiveJob, snapshot: Snapshot, options: LookOptions): NextForJob {
  const { mode, ranges } = snapshot;
  const { state: phase } = job.state;
  const isClosed = ranges.every(({ status }) => status !== 'open');
  if (isClosed && (phase === JobPhase.running || phase === JobPhase.pausing))
    return { kind: 'end', outcome: outcomeOf(ranges) };
  if (phase === JobPhase.pausing || phase === JobPhase.cancelling) {
    const how = endOfWait(job.state, snapshot, options);
    if (how !== undefined) return { kind: 'halt', how };
  }
  if (phase === JobPhase.running) {
    const reason = reasonToSuspend(job, ranges, options);
    if (reason !== undefined)
      return mayStillSettle(snapshot, options) ? { kind: 'let settle' } : { kind: 'suspend', reason };
  }
  return mode === modeOf(job.state) ? { kind: 'go on' } : { kind: 'align' };
}

function mayStillSettle({ ranges, mode }: Snapshot, options: LookOptions): boolean {
  const { nowMs, settlingSinceMs = nowMs, drainDeadlineMs } = options;
  return mode !== JobMode.halted && heldCount(ranges, nowMs) > 0 && nowMs - settlingSinceMs < drainDeadlineMs;
}

function heldCount(ranges: readonly RangeState[], nowMs: number): number {
  return ranges.filter(({ owner, leaseUntilMs }) => owner !== '' && leaseUntilMs > nowMs).length;
}

/** A lease that ran out is nobody's; its owner may still be heard until the job is halted, but is not waited for. */
function endOfWait({ deadlineAtMs }: JobState, { ranges, mode }: Snapshot, { nowMs }: LookOptions): string | undefined {
  const held = heldCount(ranges, nowMs);
  if (held === 0 || mode === JobMode.halted) return 'nothing is being handled any more';
  return BigInt(nowMs) >= deadlineAtMs ? `${held} ranges that are still being handled are not waited for` : undefined;
}

function reasonToSuspend(job: LiveJob, ranges: readonly RangeState[], options: LookOptions): string | undefined {
  return (
    usedUp(job.state, sumCounters(ranges.map(({ counters }) => counters)), BigInt(options.nowMs)) ??
    exhausted(job, ranges) ??
    waitsTooLong(job, ranges, options)
  );
}

/**
 * The note is written when the range is given back, and stays while it is worked on again. One that was there at the last
 * durable look, under the same token, is the one that suspended the job before it was resumed: that record is being tried anew.
 */
function exhausted(job: LiveJob, ranges: readonly RangeState[]): string | undefined {
  for (const range of ranges) {
    const text = range.status === 'open' && range.owner === '' ? exhaustedIn(range.note) : undefined;
    if (text !== undefined && !isForgiven(lastOf(job, range), range)) return `${text} in partition ${range.partition}`;
  }
  return undefined;
}

/** A range whose note is the old one may have been cut, or restored, which draws its tokens anew. */
function isForgiven(last: RangeCheckpoint | undefined, { note, token }: RangeState): boolean {
  return last?.note === note && (token === last.token || token === '');
}

/**
 * The note's time is the store's clock and `now` is ours; a skew of seconds does not matter against minutes. A job that
 * was resumed gets the whole deadline again, although the note is the old one.
 */
function waitsTooLong(job: LiveJob, ranges: readonly RangeState[], options: LookOptions): string | undefined {
  const { runningSinceMs, updatedAtMs } = job.state;
  const { breakerWait } = options;
  const sinceMs = Number(runningSinceMs === 0n ? updatedAtMs : runningSinceMs);
  if (breakerWait !== undefined && options.nowMs - Math.max(breakerWait.sinceMs, sinceMs) > options.breakerDeadlineMs)
    return `breaker ${breakerWait.dependency}`;
  for (const range of ranges) {
    if (range.status !== 'open') continue;
    const waitedMs = options.nowMs - Math.max(range.noteSinceMs, sinceMs);
    const what = overdueIn(range.note, waitedMs, options);
    if (what !== undefined) return `${what} in partition ${range.partition}`;
  }
  return undefined;
}

function overdueIn(note: string, waitedMs: number, options: LookOptions): string | undefined {
  const offset = openTransactionIn(note);
  if (offset !== undefined && waitedMs > options.openTransactionDeadlineMs) return `open transaction at ${offset}`;
  const dependency = breakerIn(note);
  return dependency !== undefined && waitedMs > options.breakerDeadlineMs ? `breaker ${dependency}` : undefined;
}
