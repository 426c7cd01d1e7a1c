/** Series: what they hold between two runs, how their windows join, and what is wrong with them. Pure. */
import type { JobState, SeriesState } from '@tidemark/contracts';
import { describeSchedule, isOver, jobVerdictOf } from '@tidemark/control';
import {
  holderOf,
  isHeld,
  isKilledSeries,
  lastingFault,
  neededBySeries,
  SeriesStatus,
  shownParameters,
} from '@tidemark/jobs';
import type { Sight } from '../collect/collector.ts';
import { knownValue } from '../collect/feed.ts';
import { offsetsOf } from '../collect/log-ends.ts';
import { heldSeries, placesOf } from '../collect/series-places.ts';
import { keyOfTrack } from '../collect/tracks.ts';
import {
  HELD_PARTITIONS_SHOWN_MAX,
  PARTITIONS_SHOWN_MAX,
  RUNS_SHOWN_MAX,
  SERIES_LATE_AFTER_MS,
  SERIES_SHOWN_MAX,
} from '../limits.ts';
import type { Series, SeriesDetail, SeriesList, SeriesRun } from './series-schemas.ts';
import { bounded, digitsOrNull, instant, reasonOf } from './words.ts';

export function seriesListView(sight: Sight): SeriesList {
  const { rows, omitted } = bounded(heldSeries(knownValue(sight.series) ?? new Map()), SERIES_SHOWN_MAX);
  const runs = runsBySeries(sight);
  return {
    asOf: instant(sight.nowMs),
    unknown: reasonOf(sight.series),
    series: rows.map((state) => seriesView(sight, state, runs.get(state.series) ?? [])),
    omitted,
  };
}

/** Also of one that was deleted. */
export function seriesDetailView(sight: Sight, state: SeriesState): SeriesDetail {
  const { request } = state.definition;
  const runs = runsBySeries(sight).get(state.series) ?? [];
  const shown = bounded(partitionsOf(sight, state), PARTITIONS_SHOWN_MAX);
  const chain = runs.slice(0, RUNS_SHOWN_MAX).map((run, index) => runView(run, runs[index + 1]));
  const older = state.runs - BigInt(chain.length);
  return {
    ...seriesView(sight, state, runs),
    topicId: state.topicId === '' ? null : state.topicId,
    from: request.from,
    parameters: shownParameters(request.parameters),
    settings: {
      ordering: request.ordering,
      chunkRecords: request.chunkRecords,
      rate: request.rate,
      attempts: request.attempts,
      onExhausted: request.onExhausted,
      onLost: request.onLost,
    },
    note: request.note,
    requestedBy: request.requestedBy,
    createdAt: instant(state.createdAtMs),
    updatedAt: instant(state.updatedAtMs),
    partitions: shown.rows.map(({ partition, state: word, next, floor, logStart, highWatermark, held }) => ({
      partition,
      state: word,
      next: next.toString(),
      floor: digitsOrNull(floor),
      logStart: digitsOrNull(logStart),
      highWatermark: digitsOrNull(highWatermark),
      heldOffsets: digitsOrNull(held),
    })),
    partitionsOmitted: shown.omitted,
    chain,
    chainOmitted: (older > 0n ? older : 0n).toString(),
    orders: [...ordersOf(state)],
  };
}

/** By the rules of `moveSeries` in @tidemark/jobs; the distributor decides. */
function ordersOf({ status, reason }: SeriesState): readonly string[] {
  if (status === SeriesStatus.active) return ['run', 'delete'];
  if (status !== SeriesStatus.stopped) return [];
  return lastingFault(reason) === undefined ? ['resume', 'delete'] : ['delete'];
}

function seriesView(sight: Sight, state: SeriesState, runs: readonly NumberedRun[]): Series {
  const { definition, status } = state;
  const partitions = isHeld(state) ? partitionsOf(sight, state) : [];
  const known = partitions.flatMap(({ partition, held }) => (held === undefined ? [] : [{ partition, held }]));
  const most = known.filter(({ held }) => held > 0n).sort((a, b) => Number(b.held - a.held));
  const isUnknown = isHeld(state) && (known.length < partitions.length || partitions.length === 0);
  const [newest, before] = runs;
  return {
    series: state.series,
    status,
    reason: state.reason,
    isKilled: isKilledSeries(state),
    topic: definition.request.topic,
    handler: definition.request.handler,
    schedule: describeSchedule(definition),
    runs: state.runs.toString(),
    liveRun: state.liveRun === '' ? null : state.liveRun,
    lastRun: newest === undefined ? null : runView(newest, before),
    nextDueAt: status === SeriesStatus.active ? dueAt(state) : null,
    lastLookAt: state.lookedAtMs === 0n ? null : instant(state.lookedAtMs),
    held: most
      .slice(0, HELD_PARTITIONS_SHOWN_MAX)
      .sort((a, b) => a.partition - b.partition)
      .map(({ partition, held }) => ({ partition, offsets: held.toString() })),
    heldOmitted: Math.max(0, most.length - HELD_PARTITIONS_SHOWN_MAX),
    heldOffsets: isUnknown && known.length === 0 ? null : known.reduce((sum, { held }) => sum + held, 0n).toString(),
    heldIsAtLeast: isUnknown,
    faults: [...faultsOf(sight, state, partitions)],
  };
}

/** Of a calendar that has no day left the next one lies beyond all dates. */
function dueAt({ dueAtMs }: SeriesState): string | null {
  return dueAtMs > 8_640_000_000_000_000n ? null : instant(dueAtMs);
}

interface NumberedRun {
  readonly number: bigint;
  readonly state: JobState;
}

/** The newest first. */
function runsBySeries({ states }: Sight): ReadonlyMap<string, readonly NumberedRun[]> {
  const runs = new Map<string, NumberedRun[]>();
  for (const state of knownValue(states)?.values() ?? []) {
    const { series } = state.request;
    const [, digits] = /-(\d{1,18})$/.exec(state.jobId) ?? [];
    if (series === '' || digits === undefined) continue;
    const present = runs.get(series) ?? [];
    present.push({ number: BigInt(digits), state });
    runs.set(series, present);
  }
  for (const present of runs.values()) present.sort((a, b) => Number(b.number - a.number));
  return runs;
}

function runView({ number, state }: NumberedRun, before: NumberedRun | undefined): SeriesRun {
  const verdict = jobVerdictOf(state);
  const windows = (state.pin?.partitions ?? []).filter(({ start, end }) => end > start);
  return {
    jobId: state.jobId,
    number: number.toString(),
    state: state.state,
    verdict,
    reason: state.reason,
    isActive: !isOver(verdict),
    requestedAt: instant(state.requestedAtMs),
    updatedAt: instant(state.updatedAtMs),
    offsets: state.pin === null ? null : windows.reduce((sum, { start, end }) => sum + (end - start), 0n).toString(),
    window: windows.slice(0, PARTITIONS_SHOWN_MAX).map(({ partition, start, end }) => ({
      partition,
      start: start.toString(),
      end: end.toString(),
    })),
    skipped: digitsOrNull(skippedBetween(before, { number, state })),
  };
}

/** Undefined when the run right before it is not known; a run that was never pinned covered nothing and passed nothing. */
function skippedBetween(before: NumberedRun | undefined, run: NumberedRun): bigint | undefined {
  if (before === undefined || before.number !== run.number - 1n) return undefined;
  if (before.state.pin === null || run.state.pin === null) return undefined;
  const ends = new Map(before.state.pin.partitions.map(({ partition, end }) => [partition, end]));
  return run.state.pin.partitions.reduce((sum, { partition, start }) => {
    const gap = start - (ends.get(partition) ?? start);
    return gap > 0n ? sum + gap : sum;
  }, 0n);
}

interface SeriesPlace {
  readonly partition: number;
  readonly state: string;
  readonly next: bigint;
  readonly floor: bigint | undefined;
  readonly logStart: bigint | undefined;
  readonly highWatermark: bigint | undefined;
  /** Undefined while nobody knows. */
  readonly held: bigint | undefined;
}

/** Those of the topic as it is now; of one that cannot be seen those that runs have seen. */
function partitionsOf(sight: Sight, state: SeriesState): readonly SeriesPlace[] {
  const { topic } = state.definition.request;
  const ends = knownValue(sight.ends);
  const places = ends === undefined ? [] : placesOf(state, ends);
  const numbers = places.length > 0 ? places : state.partitions;
  return numbers.map(({ partition }) => {
    const place = { topic, topicId: state.topicId, partition };
    const offsets = offsetsOf(ends, place);
    const next = neededBySeries(state.partitions, partition);
    const looks = knownValue(sight.floors);
    const isAsked = looks?.has(keyOfTrack(place)) === true;
    const look = looks?.get(keyOfTrack(place));
    const floor = look?.floors.find(({ holder }) => holder === holderOf(state.series))?.offset;
    const from =
      floor === undefined || offsets === undefined || offsets.logStartOffset < floor ? floor : offsets.logStartOffset;
    const held = from === undefined || offsets === undefined ? undefined : offsets.highWatermark - from;
    return {
      partition,
      state: wordOf({ isAsked, isFilled: look !== undefined, floor, next, offsets, topic: ends?.get(topic)?.kind }),
      next,
      floor,
      logStart: offsets?.logStartOffset,
      highWatermark: offsets?.highWatermark,
      held: held === undefined || held > 0n ? held : 0n,
    };
  });
}

function wordOf(seen: {
  readonly isAsked: boolean;
  readonly isFilled: boolean;
  readonly floor: bigint | undefined;
  readonly next: bigint;
  readonly offsets: { readonly logStartOffset: bigint } | undefined;
  readonly topic: string | undefined;
}): string {
  if (seen.topic === 'missing') return 'topic missing';
  if (seen.topic === 'present' && seen.offsets === undefined) return 'topic recreated';
  // What lies before the first run was never promised: then its floor may begin above an offset that is gone.
  if (
    seen.offsets !== undefined &&
    seen.floor !== undefined &&
    seen.offsets.logStartOffset > seen.next &&
    seen.next > 0n
  )
    return 'records removed';
  if (!seen.isAsked) return 'unknown';
  if (!seen.isFilled) return 'not filled';
  return seen.floor === undefined ? 'not held' : 'held';
}

function faultsOf(sight: Sight, state: SeriesState, partitions: readonly SeriesPlace[]): readonly string[] {
  const { series, status, reason, liveRun } = state;
  const faults: string[] = [];
  if (isKilledSeries(state))
    faults.push(
      `It is stopped: ${reason}. A resume lets it go on${liveRun === '' ? '' : `, when ${liveRun}, which was killed, too, has ended`}.`,
    );
  else if (status === SeriesStatus.stopped)
    faults.push(
      lastingFault(reason) === undefined
        ? `It is stopped: ${reason}. A resume goes on behind that run.`
        : `It is stopped, and no resume heals it: ${reason}.`,
    );
  if (status === SeriesStatus.refused) faults.push(`It was refused: ${reason}.`);
  if (!isHeld(state)) return faults;
  const { topic } = state.definition.request;
  const found = knownValue(sight.ends)?.get(topic);
  if (found?.kind === 'missing') faults.push(`Topic ${topic} is gone: delete series ${series}, it cannot go on.`);
  if (found?.kind === 'present' && found.topicId !== state.topicId)
    faults.push(`Topic ${topic} was created again: delete series ${series} and create another one.`);
  const gone = partitions.filter((place) => place.state === 'records removed');
  if (gone.length > 0)
    faults.push(
      `Somebody removed records that its next run needs: ${gone
        .slice(0, HELD_PARTITIONS_SHOWN_MAX)
        .map(
          ({ partition, next, logStart }) => `offsets ${next} to ${(logStart ?? next) - 1n} of partition ${partition}`,
        )
        .join(', ')}${gone.length > HELD_PARTITIONS_SHOWN_MAX ? ' and more' : ''}.`,
    );
  if (status === SeriesStatus.active && state.liveRun === '') {
    const lateMs = BigInt(sight.nowMs) - state.dueAtMs;
    if (lateMs > SERIES_LATE_AFTER_MS)
      faults.push(`Its run is due since ${lateMs / 1_000n} s, and none begins: "tidemark distributor" runs one.`);
  }
  return faults;
}
