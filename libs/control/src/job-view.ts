/**
 * A job as an operator sees it: its durable state, and its ranges from the cursor store or, when the store does not hold
 * it (it has ended, or the store is being filled), from the checkpoints.
 */
import type { JobState, Pin } from '@tidemark/contracts';
import type { RangeState } from '@tidemark/cursors';
import { deriveEnds, type Progress, rangeOfCheckpoint, windowsOf } from '@tidemark/jobs';
import { inSlices, type Offset, type RangeCounters, sumCounters, toOffset } from '@tidemark/keyspace';
import { type BudgetUse, budgetUseOf } from './budget-use.ts';
import { isOver, jobVerdictOf } from './job-verdict.ts';
import { LOOKS_AT_ONCE } from './limits.ts';
import type { ControlParts } from './parts.ts';
import { settledProgress, settledUpTo } from './settled.ts';
import { type Crew, type Waiting, waitingOfJob, waitingOfRanges } from './waiting.ts';

/** From the store, or from a checkpoint, which knows no lease. */
export type RangeView = Pick<
  RangeState,
  | 'partition'
  | 'start'
  | 'end'
  | 'cursor'
  | 'status'
  | 'note'
  | 'lost'
  | 'passed'
  | 'parked'
  | 'counters'
  | 'owner'
  | 'token'
> &
  Partial<Pick<RangeState, 'horizon' | 'leaseUntilMs' | 'noteSinceMs'>>;

export interface WaitingRangeView extends RangeView {
  readonly waiting: Waiting | undefined;
}

export interface SettledWindow {
  readonly partition: number;
  readonly start: bigint;
  readonly end: bigint;
  readonly clamped: string;
  /** The contiguous prefix; undefined while nobody knows. */
  readonly settledUpTo: Offset | undefined;
}

export interface JobView {
  readonly state: JobState;
  /** `none`: not pinned yet, or the store is being rebuilt and no checkpoint was written so far. */
  readonly source: 'store' | 'checkpoints' | 'none';
  readonly ranges: readonly WaitingRangeView[];
  readonly windows: readonly SettledWindow[];
  /** Of a job without ranges: 0 % before the pin; 100 % after it, for then there is nothing to do. */
  readonly progress: Progress;
  /** Summed over the ranges. */
  readonly counters: RangeCounters;
  readonly budget: readonly BudgetUse[];
  readonly waiting: Waiting | undefined;
  /** The store's clock at the look, by which waiting is counted. */
  readonly storeNowMs: number;
}

type ViewParts = Pick<ControlParts, 'store' | 'schedule'> & {
  readonly jobLog: Pick<ControlParts['jobLog'], 'checkpoints'>;
};

export async function viewJob(parts: ViewParts, state: JobState): Promise<JobView> {
  return viewWith(parts, state, await lookAtCrew(parts.schedule));
}

/** Jobs that are under way, in the order given; of the others only what their states tell. */
export async function viewJobs(parts: ViewParts, states: readonly JobState[]): Promise<ReadonlyMap<string, JobView>> {
  const views = new Map<string, JobView>();
  const crew = await lookAtCrew(parts.schedule);
  await inSlices(states.filter(isLive), { atOnce: LOOKS_AT_ONCE }, async (state) => {
    views.set(state.jobId, await viewWith(parts, state, crew));
  });
  return views;
}

async function lookAtCrew(schedule: ControlParts['schedule']): Promise<Crew> {
  const [{ nowMs, workers }, hints] = await Promise.all([schedule.workers(), schedule.waiting()]);
  return { storeNowMs: nowMs, workers, hints };
}

async function viewWith(parts: ViewParts, state: JobState, crew: Crew): Promise<JobView> {
  const { source, ranges } = await rangesOf(parts, state);
  // Checkpoints know no owner: of them nobody can say what they wait for.
  const waits = source === 'store' ? waitingOfRanges(ranges, state, crew) : [];
  const counters = sumCounters(ranges.map((range) => range.counters));
  return {
    state,
    source,
    ranges: ranges.map((range, index) => ({ ...range, waiting: waits[index] })),
    windows: windowsWith(state.pin, ranges),
    progress: state.pin === null ? { offsetsDone: 0n, offsetsTotal: 0n, percent: 0 } : settledProgress(ranges),
    counters,
    budget: budgetUseOf(state, counters, crew.storeNowMs),
    waiting: waitingOfJob(source === 'store' ? ranges : undefined, state, crew),
    storeNowMs: crew.storeNowMs,
  };
}

/** The store forgets a job when it has ended, and until then knows more than the checkpoints. */
async function rangesOf(
  { store, jobLog }: Pick<ViewParts, 'store' | 'jobLog'>,
  state: JobState,
): Promise<Pick<JobView, 'source'> & { readonly ranges: readonly RangeView[] }> {
  if (state.pin === null) return { source: 'none', ranges: [] };
  const snapshot = isLive(state) ? await store.snapshot(state.jobId) : undefined;
  if (snapshot !== undefined) return { source: 'store', ranges: snapshot.ranges };
  const ranges = await checkpointedRanges(jobLog, state.jobId, state.pin);
  return { source: ranges.length === 0 ? 'none' : 'checkpoints', ranges };
}

/** The newest checkpoint of each range; nobody works on it now. */
export async function checkpointedRanges(
  jobLog: Pick<ControlParts['jobLog'], 'checkpoints'>,
  jobId: string,
  pin: Pin,
): Promise<readonly RangeView[]> {
  const ranges = (await jobLog.checkpoints(jobId)).map((checkpoint) => ({
    ...rangeOfCheckpoint(checkpoint),
    owner: '',
    token: checkpoint.token,
  }));
  return deriveEnds(windowsOf(pin), ranges);
}

function windowsWith(pin: Pin | null, ranges: readonly RangeView[]): readonly SettledWindow[] {
  return (pin?.partitions ?? []).map(({ partition, start, end, clamped }) => ({
    partition,
    start,
    end,
    clamped,
    settledUpTo: settledUpTo({ partition, start: toOffset(start), end: toOffset(end) }, ranges),
  }));
}

function isLive(state: JobState): boolean {
  return !isOver(jobVerdictOf(state));
}
