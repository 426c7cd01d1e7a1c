/**
 * The runs of series, looked at after every round: those that ended are noted, those that are due are pinned.
 *
 * The window of a run and the new end of its series are one transaction, so the next window begins right after this one
 * whoever crashes where: before it nothing happened, after it the successor goes on with the job.
 */
import type { JobRequested, SeriesState } from '@tidemark/contracts';
import {
  chainFault,
  dueAfterSetBack,
  endsAfter,
  isTerminal,
  moveSeries,
  nextDueMs,
  removedBetween,
  runIdOf,
  runRequest,
  type SeriesAnswer,
  type SeriesTransition,
  type TransitionTime,
  transition,
} from '@tidemark/jobs';
import { describeError, ErrorClass, isOutage, TidemarkError } from '@tidemark/keyspace';
import { timeOf } from './changes.ts';
import { createJob } from './create-job.ts';
import { SERIES_RUNS_PER_ROUND_MAX } from './limits.ts';
import type { PinAnswer } from './pin.ts';
import { createAskedCatalog, pinRequest, refusedFor } from './pin-turn.ts';
import { lookForPartitions, raiseSeriesFloors } from './series-floors.ts';
import { commitSeries } from './series-orders.ts';
import type { JobChange, Shard } from './shard.ts';
import { createTries, type Tried, type Tries } from './tries.ts';

export async function tendSeries(shard: Shard): Promise<void> {
  if (shard.series.all().length === 0) return;
  await noteEndedRuns(shard);
  await stopPoisoned(shard);
  await rescheduleEarly(shard);
  const nowMs = BigInt(shard.parts.nowMs());
  const due = shard.series
    .active()
    .filter(
      ({ series, liveRun, dueAtMs }) => liveRun === '' && dueAtMs <= nowMs && triesOf(shard, series).dueInMs() === 0,
    )
    .sort((a, b) => Number(a.dueAtMs - b.dueAtMs));
  for (const state of due.slice(0, SERIES_RUNS_PER_ROUND_MAX)) {
    if (shard.signal.aborted) return;
    await beginRun(shard, state).catch((error: unknown) => {
      if (error instanceof TidemarkError && error.class === ErrorClass.data)
        shard.parts.poisonedSeries.set(state.series, describeError(error));
      throw error;
    });
  }
  await lookForPartitions(shard);
  await raiseSeriesFloors(shard);
}

async function noteEndedRuns(shard: Shard): Promise<void> {
  const { book, parts } = shard;
  const time = timeOf(shard);
  const changes: Moved[] = [];
  for (const state of shard.series.active()) {
    if (state.liveRun === '') continue;
    const run = book.state(state.liveRun);
    if (run !== undefined && !isTerminal(run.state)) continue;
    const { state: phase, reason } = run ?? { state: 'UNKNOWN', reason: 'its state is gone' };
    const change = must(moveSeries(state, { kind: 'ended', phase, reason }, time));
    const { series, status } = change.state;
    if (status === state.status) parts.logger.info({ series, jobId: state.liveRun }, 'series.run_completed');
    else parts.logger.warn({ series, reason: change.state.reason }, 'series.stopped');
    changes.push(change);
  }
  if (changes.length > 0) await commitSeries(shard, changes, time);
}

/** Else a series that a clock ran ahead with would wait until the time is there again. */
async function rescheduleEarly(shard: Shard): Promise<void> {
  const time = timeOf(shard);
  const changes: Moved[] = [];
  for (const state of shard.series.active()) {
    const dueAtMs = dueAfterSetBack(state, time.atMs);
    if (dueAtMs === undefined) continue;
    const { series, dueAtMs: before } = state;
    shard.parts.logger.warn({ series, before, dueAtMs }, 'series.rescheduled');
    changes.push(must(moveSeries(state, { kind: 'rescheduled', dueAtMs }, time)));
  }
  if (changes.length > 0) await commitSeries(shard, changes, time);
}

/** A run whose transaction the broker refuses for its content would stop all others for ever. */
async function stopPoisoned(shard: Shard): Promise<void> {
  const { poisonedSeries, logger } = shard.parts;
  for (const [series, why] of poisonedSeries) {
    const state = shard.series.state(series);
    const event = { kind: 'stopped', reason: `NOT_STORABLE: its next run could not be written: ${why}` } as const;
    const time = timeOf(shard);
    const answer = moveSeries(state, event, time);
    if (answer.kind === 'moved') {
      await commitSeries(shard, [answer], time);
      logger.warn({ series, reason: answer.state.reason }, 'series.stopped');
    }
    poisonedSeries.delete(series);
  }
}

async function beginRun(shard: Shard, state: SeriesState): Promise<void> {
  const number = nextNumber(shard, state);
  const tried = await pinRun(shard, state, runIdOf(state.series, number));
  if (tried.kind === 'failed') return;
  const { request, pin } = tried.answer;
  const time = timeOf(shard);
  const skipped = pin.kind === 'pinned' ? removedBetween(state.partitions, pin.pin) : '';
  if (skipped !== '') shard.parts.logger.warn({ series: state.series, skipped }, 'series.records_skipped');
  if (pin.kind === 'pinned' && pin.pin.partitions.every(({ start, end }) => start === end)) {
    const event = {
      kind: 'looked',
      partitions: endsAfter(state.partitions, pin.pin),
      dueAtMs: dueAfter(state, time),
      skipped,
    } as const;
    return commitSeries(shard, [must(moveSeries(state, event, time))], time);
  }
  // Orders to it can only come later than everything that was read.
  const place = { partition: 0, offset: shard.book.nextOffset - 1n };
  const answer = transition(undefined, { kind: 'requested', request, place }, time);
  if (answer.kind !== 'moved') throw impossible(state, 'its run cannot be requested');
  const requested = { state: answer.state, moved: true, events: answer.events, checkpoints: [] };
  await createJob(shard, requested, pin, (change) => withSeries(change, state, { number, pin, skipped }));
}

/** Somebody may have given a job the id. */
function nextNumber({ book }: Shard, { series, runs }: SeriesState): bigint {
  let number = runs + 1n;
  while (book.state(runIdOf(series, number)) !== undefined) number += 1n;
  return number;
}

/** What the transaction of the run changes of its series; a run that is over in it is noted in it. */
function withSeries(
  change: JobChange,
  before: SeriesState,
  { number, pin, skipped }: { readonly number: bigint; readonly pin: PinAnswer; readonly skipped: string },
): JobChange {
  const { jobId, state: phase, reason, updatedAtMs, pin: pinned } = change.state;
  const time = { atMs: updatedAtMs, actor: 'distributor' };
  const partitions =
    pin.kind === 'pinned' && pinned !== null ? endsAfter(before.partitions, pin.pin) : before.partitions;
  const begun = must(
    moveSeries(before, { kind: 'begun', jobId, number, partitions, dueAtMs: dueAfter(before, time), skipped }, time),
  );
  const event: SeriesTransition = { kind: 'ended', phase, reason };
  const after = isTerminal(phase) ? must(moveSeries(begun.state, event, time)) : undefined;
  const events = [...change.events, ...begun.events, ...(after?.events ?? [])];
  return { ...change, series: after?.state ?? begun.state, events };
}

/** What was missed until now is in this run. */
function dueAfter({ definition, createdAtMs }: SeriesState, { atMs }: TransitionTime): bigint {
  return nextDueMs(definition, { afterMs: atMs, anchorMs: createdAtMs });
}

async function pinRun(
  shard: Shard,
  state: SeriesState,
  jobId: string,
): Promise<Tried<{ readonly request: JobRequested; readonly pin: PinAnswer }>> {
  const { topicId, partitions } = state;
  const asked = createAskedCatalog(shard.parts.cluster.catalog);
  const pin = async (): Promise<{ request: JobRequested; pin: PinAnswer }> => {
    const topic = await asked.catalog.describe(state.definition.request.topic);
    const partitionCount = topic?.topicId === topicId ? topic.partitionCount : partitions.length;
    const request = runRequest(state, { jobId, partitionCount });
    const fault = topicFault(state, topic?.topicId);
    if (fault !== undefined) return { request, pin: { kind: 'refused', reason: fault } };
    const answer = await pinRequest(shard, request, asked);
    return { request, pin: joined(state, answer) };
  };
  const refused = (error: unknown) => ({
    request: runRequest(state, { jobId, partitionCount: partitions.length }),
    pin: refusedFor(asked, error),
  });
  return triesOf(shard, state.series).once(
    () => pin().catch(refused),
    (error) => asked.said(error) && isOutage(error),
  );
}

/** The topic may have been recreated between the look at it and the pin, too. */
function joined(state: SeriesState, answer: PinAnswer): PinAnswer {
  if (answer.kind === 'refused') return answer;
  const { definition, partitions } = state;
  const fault = topicFault(state, answer.pin.topicId) ?? chainFault(partitions, answer.pin, definition.request.onLost);
  return fault === undefined ? answer : { kind: 'refused', reason: fault };
}

function topicFault({ definition, series, topicId }: SeriesState, found: string | undefined): string | undefined {
  if (found === topicId) return undefined;
  const { topic } = definition.request;
  const advice = `delete the series ("tidemark series delete ${series}") and create it anew`;
  return found === undefined
    ? `TOPIC_NOT_FOUND: topic ${topic} does not exist any more; ${advice} when it is there again`
    : `TOPIC_RECREATED: topic ${topic} was deleted and created again, and what the series went through is gone with the old one; ${advice}`;
}

function triesOf({ seriesTries, parts }: Shard, series: string): Tries {
  const known = seriesTries.get(series);
  if (known !== undefined) return known;
  const tries = createTries({
    onDown: (error) => parts.logger.warn({ series, error }, 'series.waiting'),
    onBack: (waitedMs) => parts.logger.info({ series, waitedMs }, 'series.answered'),
  });
  seriesTries.set(series, tries);
  return tries;
}

type Moved = Extract<SeriesAnswer, { kind: 'moved' }>;

function must(answer: SeriesAnswer): Moved {
  if (answer.kind === 'moved') return answer;
  throw impossible(answer.state, answer.kind === 'refused' ? answer.reason : 'nothing changed');
}

function impossible(state: SeriesState | undefined, why: string): TidemarkError {
  const message = `a step of series ${state?.series ?? ''} is impossible: ${why}`;
  return new TidemarkError({ code: 'IMPOSSIBLE_TRANSITION', class: ErrorClass.bug, message });
}
