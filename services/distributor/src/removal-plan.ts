/**
 * Which jobs are over for so long that nobody asks for them any more: pure. Their states and checkpoints would otherwise grow for
 * ever, and every start reads all of them.
 *
 * A request that is sent again is known by the state of its job. So a state stays for the horizon after the end, by the time
 * up to which requests were *read*: one that was written within it and waits unread still finds the job. And it stays while
 * the request itself is in the log, whatever clocks and settings say.
 *
 * A run of a series has no request that could come again: its series remembers the number of the newest. So of each series
 * the newest ended runs are kept, and the others go whenever they ended.
 */
import type { JobState, SeriesState } from '@tidemark/contracts';
import { isHeld, isHeldForAudit, isTerminal, runIdOf, runNumberOf } from '@tidemark/jobs';

/** What is kept of the past. */
export interface Keeping {
  /** After the end of a job. */
  readonly endedMs: number;
  /** Ended runs of each series. */
  readonly runs: number;
}

export interface RequestsRead {
  /** Epoch ms: every request that was acknowledged before is decided. */
  readonly throughMs: number;
  /** Where the jobs topic begins now. */
  readonly logStart: bigint;
}

export interface RemovalFacts {
  readonly states: readonly JobState[];
  readonly series: readonly SeriesState[];
  readonly read: RequestsRead;
  readonly keeping: Keeping;
}

export interface Removable {
  readonly state: JobState;
  /** In words, for the audit trail. */
  readonly why: string;
  /** Then nobody can ask for the id again. */
  readonly isRun: boolean;
}

export interface RemovalPlan {
  /** Whoever ended first is first. */
  readonly removable: readonly Removable[];
  /**
   * Jobs that would go, but are the only ones that are known to have read some partition: without them the guard would take
   * it for one that nobody ever read, and cut nothing there. They may go when their topic is gone.
   */
  readonly witnesses: readonly Removable[];
}

export function planRemoval(facts: RemovalFacts): RemovalPlan {
  const series = new Map(facts.series.map((state) => [state.series, state]));
  const crowded = crowdedRuns(facts, series);
  const going: Removable[] = [];
  const covered: Covered = new Map();
  for (const state of facts.states) {
    const removable = removableOf(state, { ...facts, series, crowded });
    if (removable === undefined) cover(covered, state);
    else going.push(removable);
  }
  if (going.length === 0) return { removable: [], witnesses: [] };
  for (const state of facts.series) coverSeries(covered, state);
  const removable: Removable[] = [];
  const witnesses: Removable[] = [];
  // The newest one that has read a partition is the one that is kept for it.
  for (const each of going.sort(byEnd).reverse()) (cover(covered, each.state) ? witnesses : removable).push(each);
  return { removable: removable.reverse(), witnesses: witnesses.reverse() };
}

interface Known extends Pick<RemovalFacts, 'read' | 'keeping'> {
  readonly series: ReadonlyMap<string, SeriesState>;
  readonly crowded: ReadonlySet<string>;
}

function removableOf(state: JobState, { read, keeping, series, crowded }: Known): Removable | undefined {
  if (holdOf(state) !== undefined) return undefined;
  const of = series.get(state.request.series);
  const isRun = of !== undefined && numberOf(state, of) !== undefined;
  if (isRun && isNeededBy(of, state)) return undefined;
  const isOld = BigInt(read.throughMs) - state.updatedAtMs > BigInt(keeping.endedMs);
  if (isRun && crowded.has(state.jobId))
    return { state, isRun, why: `it is not among the newest ${keeping.runs} runs of its series that have ended` };
  if (!isOld || (!isRun && state.lastCommandOffset >= read.logStart)) return undefined;
  return { state, isRun, why: `it ended ${days(keeping.endedMs)} ago` };
}

/** What a job still holds, in words; undefined when nothing. Whatever an ended job may go on to hold is asked here. */
function holdOf(state: JobState): string | undefined {
  if (!isTerminal(state.state)) return `it is ${state.state}`;
  return isHeldForAudit(state) ? 'its window is held for an audit' : undefined;
}

/** The last one tells how far the series went and, if it stopped there, why; a resume goes on behind it. */
function isNeededBy(series: SeriesState, { jobId }: JobState): boolean {
  return jobId === series.liveRun || (isHeld(series) && jobId === runIdOf(series.series, series.runs));
}

/** Ended runs of a series beyond the newest. */
function crowdedRuns({ states, keeping }: RemovalFacts, series: ReadonlyMap<string, SeriesState>): ReadonlySet<string> {
  const ended = new Map<string, { readonly jobId: string; readonly number: bigint }[]>();
  for (const state of states) {
    const name = state.request.series;
    const of = series.get(name);
    const number = of === undefined || holdOf(state) !== undefined ? undefined : numberOf(state, of);
    if (number === undefined) continue;
    const runs = ended.get(name) ?? [];
    ended.set(name, runs);
    runs.push({ jobId: state.jobId, number });
  }
  const crowded = new Set<string>();
  for (const runs of ended.values())
    for (const { jobId } of runs.sort((a, b) => (a.number < b.number ? 1 : -1)).slice(keeping.runs)) crowded.add(jobId);
  return crowded;
}

/** A request that only says that it is one was refused; it may name any number. */
function numberOf({ jobId }: JobState, { series, runs }: SeriesState): bigint | undefined {
  const number = runNumberOf(series, jobId);
  return number !== undefined && number <= runs ? number : undefined;
}

/** Partitions that somebody is known to have read, by topic id: numbers, because all states are gone through. */
type Covered = Map<string, Set<number>>;

/** Whether some of it was not covered before. An empty window reads nothing. */
function cover(covered: Covered, { pin }: JobState): boolean {
  if (pin === null) return false;
  const partitions = partitionsOf(covered, pin.topicId);
  const before = partitions.size;
  for (const { partition, start, end } of pin.partitions) if (end > start) partitions.add(partition);
  return partitions.size > before;
}

function coverSeries(covered: Covered, { topicId, partitions }: SeriesState): void {
  const seen = partitionsOf(covered, topicId);
  for (const { partition } of partitions) seen.add(partition);
}

function partitionsOf(covered: Covered, topicId: string): Set<number> {
  const known = covered.get(topicId) ?? new Set<number>();
  covered.set(topicId, known);
  return known;
}

function byEnd(a: Removable, b: Removable): number {
  return Number(a.state.updatedAtMs - b.state.updatedAtMs);
}

function days(ms: number): string {
  return ms >= 86_400_000 ? `more than ${Math.floor(ms / 86_400_000)} days` : `more than ${ms / 1000} s`;
}
