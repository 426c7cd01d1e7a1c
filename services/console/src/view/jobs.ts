/** Jobs as an operator sees them: pure. */

import type { JobState } from '@tidemark/contracts';
import {
  adviceOn,
  type BudgetUse,
  budgetUseOf,
  isOver,
  JobVerdict,
  jobVerdictOf,
  settledProgress,
  type Waiting,
  waitingOfJob,
} from '@tidemark/control';
import type { RangeState } from '@tidemark/cursors';
import type { Progress } from '@tidemark/jobs';
import { explainedOffsets, type RangeCounters, sumCounters } from '@tidemark/keyspace';
import type { Sight } from '../collect/collector.ts';
import { knownValue } from '../collect/feed.ts';
import type { Work } from '../collect/work.ts';
import { JOBS_SHOWN_DEFAULT } from '../limits.ts';
import { countRanges, shareOf } from './ranges.ts';
import type { Job, Jobs } from './schemas.ts';
import { bounded, budgetView, instant, reasonOf, waitingView } from './words.ts';

export function jobsView(sight: Sight, shownMax: number = JOBS_SHOWN_DEFAULT): Jobs {
  const states = [...(knownValue(sight.states)?.values() ?? [])].sort(
    (a, b) =>
      Number(isOver(jobVerdictOf(a))) - Number(isOver(jobVerdictOf(b))) || Number(b.requestedAtMs - a.requestedAtMs),
  );
  const { rows, omitted } = bounded(states, shownMax);
  return {
    asOf: instant(sight.nowMs),
    unknown: reasonOf(sight.states),
    counts: countsByState(states),
    jobs: rows.map((state) => jobView(sight, state)),
    omitted,
  };
}

export function countsByState(states: Iterable<JobState>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { state } of states) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

export function jobView(sight: Sight, state: JobState): Job {
  const { request, pin } = state;
  const verdict = jobVerdictOf(state);
  const active = !isOver(verdict);
  const work = knownValue(sight.work);
  const ranges = active ? work?.ranges.get(state.jobId) : undefined;
  const waiting = waitingOf(state, work);
  const storeNowMs = work?.storeNowMs ?? sight.nowMs;
  const counters = active ? ranges && sumCounters(ranges.map((range) => range.counters)) : (state.totals ?? undefined);
  const budget = counters === undefined ? [] : budgetUseOf(state, counters, storeNowMs);
  return {
    jobId: state.jobId,
    state: state.state,
    reason: state.reason,
    verdict,
    isActive: active,
    topic: request.topic,
    handler: request.handler,
    from: request.from,
    to: request.to,
    note: request.note,
    requestedBy: request.requestedBy,
    requestedAt: instant(state.requestedAtMs),
    pinnedAt: pin === null ? null : instant(pin.pinnedAtMs),
    updatedAt: instant(state.updatedAtMs),
    progress: active ? activeProgress(sight, state, ranges) : endedProgress(state),
    share: ranges === undefined ? null : shareText(ranges),
    ranges: ranges === undefined || work === undefined ? null : countRanges(ranges, work.storeNowMs),
    ...usedText(counters, budget),
    waiting: waitingView(waiting, storeNowMs),
    hint: waiting === undefined ? '' : adviceOn(waiting, { jobId: state.jobId, budget }),
  };
}

/** Nulls while nobody can say. */
function usedText(counters: RangeCounters | undefined, budget: readonly BudgetUse[]) {
  if (counters === undefined) return { parked: null, retries: null, budget: null };
  return { parked: counters.parked.toString(), retries: counters.retries.toString(), budget: budgetView(budget) };
}

export function shareText(ranges: Parameters<typeof shareOf>[0]) {
  const { settled, parked, inFlight, waiting, stopped } = shareOf(ranges);
  return {
    settled: settled.toString(),
    parked: parked.toString(),
    inFlight: inFlight.toString(),
    waiting: waiting.toString(),
    stopped: stopped.toString(),
  };
}

function activeProgress(sight: Sight, state: JobState, ranges: readonly RangeState[] | undefined): Job['progress'] {
  if (ranges === undefined) return null;
  const pace = jobVerdictOf(state) === JobVerdict.running ? sight.paces.ofJob(state.jobId) : undefined;
  return progressText(settledProgress(ranges), {
    perSecond: pace?.perSecond ?? null,
    etaSeconds: pace?.etaMs === undefined ? null : Math.ceil(pace.etaMs / 1000),
  });
}

function progressText(
  progress: Progress,
  pace: { readonly perSecond: number | null; readonly etaSeconds: number | null },
) {
  return {
    offsetsTotal: progress.offsetsTotal.toString(),
    offsetsDone: progress.offsetsDone.toString(),
    percent: progress.percent,
    perSecond: pace.perSecond === null ? null : Math.round(pace.perSecond * 10) / 10,
    etaSeconds: pace.etaSeconds,
  };
}

/** Of a job that is over: what its totals account for. */
function endedProgress({ pin, totals }: JobState): Job['progress'] {
  if (pin === null || totals === null) return null;
  const offsetsTotal = pin.partitions.reduce((sum, { start, end }) => sum + (end > start ? end - start : 0n), 0n);
  const counted = explainedOffsets(totals);
  const left = offsetsTotal - counted;
  // Loss that a stopped range has not passed is counted, too, and must not make more than a whole.
  const offsetsDone = left > 0n ? counted : offsetsTotal;
  const percent = offsetsTotal === 0n ? 100 : Number((offsetsDone * 1000n) / offsetsTotal) / 10;
  return progressText({ offsetsTotal, offsetsDone, percent }, { perSecond: null, etaSeconds: null });
}

/** Undefined also while nobody can say: the cursor store does not answer, or was not asked for this job. */
function waitingOf(state: JobState, work: Work | undefined): Waiting | undefined {
  if (jobVerdictOf(state) !== JobVerdict.running)
    return waitingOfJob(work?.ranges.get(state.jobId), state, work ?? NOBODY_SEEN);
  return work?.followed.has(state.jobId) === true ? waitingOfJob(work.ranges.get(state.jobId), state, work) : undefined;
}

/** Of a job that does not run nobody is asked. */
const NOBODY_SEEN = { storeNowMs: 0, workers: [], hints: new Map() };
