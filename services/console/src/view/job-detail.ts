/** One job with its window, its ranges and the proof that its numbers add up: pure. */
import type { JobState } from '@tidemark/contracts';
import { lossOf, type RangeView, settledUpTo, waitingOfRanges } from '@tidemark/control';
import {
  auditDeadlineOf,
  identityOfJob,
  isHeldForAudit,
  lettersFoundUnder,
  releasedText,
  shownParameters,
} from '@tidemark/jobs';
import { explainedOffsets, sumCounters, toOffset } from '@tidemark/keyspace';
import type { Sight } from '../collect/collector.ts';
import { knownValue } from '../collect/feed.ts';
import { LOST_SHOWN_MAX, RANGES_SHOWN_MAX } from '../limits.ts';
import { jobView, shareText } from './jobs.ts';
import { countRanges, inOrder, rangeRow } from './ranges.ts';
import type { JobDetail } from './schemas.ts';
import { bounded, countersText, digitsOrNull, instant, instantOrNull } from './words.ts';

export interface JobRanges {
  readonly source: 'store' | 'checkpoints' | 'none';
  readonly ranges: readonly RangeView[];
}

export function jobDetailView(sight: Sight, state: JobState, { source, ranges }: JobRanges): JobDetail {
  const { request, pin } = state;
  const crew = knownValue(sight.work);
  const storeNowMs = crew?.storeNowMs ?? sight.nowMs;
  const sorted = inOrder(ranges);
  const waits = crew === undefined ? [] : waitingOfRanges(sorted, state, crew);
  const shown = bounded(
    sorted.map((range, index) => ({ ...range, waiting: waits[index] })),
    RANGES_SHOWN_MAX,
  );
  const loss = lossOf(state, ranges);
  const lost = bounded(loss.places, LOST_SHOWN_MAX);
  const context = { jobId: state.jobId, storeNowMs, paces: sight.paces };
  return {
    ...jobView(sight, state),
    ...(ranges.length === 0 ? {} : { share: shareText(ranges), ranges: countRanges(ranges, storeNowMs) }),
    topicId: pin?.topicId ?? null,
    series: request.series === '' ? null : request.series,
    deadLettersOf: lettersFoundUnder(request.topic),
    unsentKeys: (pin?.unsentKeys ?? 0n).toString(),
    unsent: (pin?.unsent ?? []).map(({ key, position, reason }) => ({ key, position: position.toString(), reason })),
    heldForAudit: isHeldForAudit(state) ? { until: instantOrNull(auditDeadlineOf(state)) } : null,
    releasedFloors: state.releasedFloors.map((floor) => `${instant(floor.atMs)}: ${releasedText([floor])}`),
    parameters: shownParameters(request.parameters),
    settings: {
      ordering: request.ordering,
      chunkRecords: request.chunkRecords,
      concurrency: request.concurrency,
      rate: request.rate,
      rangesPerPartition: request.rangesPerPartition,
      priority: request.priority,
      attempts: request.attempts,
      parkedMax: request.parkedMax,
      onExhausted: request.onExhausted,
      onLost: request.onLost,
    },
    window: (pin?.partitions ?? []).map(({ partition, start, end, clamped }) => ({
      partition,
      start: start.toString(),
      end: end.toString(),
      settledUpTo: digitsOrNull(settledUpTo({ partition, start: toOffset(start), end: toOffset(end) }, sorted)),
      clamped,
    })),
    source,
    rangeRows: shown.rows.map((range) => rangeRow(range, context)),
    rangesOmitted: shown.omitted,
    identity: identityView(ranges),
    lost: lost.rows.map(({ partition, first, last }) => ({
      partition,
      first: first.toString(),
      last: last.toString(),
    })),
    lostOmitted: lost.omitted,
    lostUnplaced: loss.unplaced.toString(),
  };
}

function identityView(ranges: readonly RangeView[]): JobDetail['identity'] {
  if (ranges.length === 0) return null;
  const counters = sumCounters(ranges.map((range) => range.counters));
  return {
    span: ranges.reduce((sum, { start, cursor }) => sum + (cursor - start), 0n).toString(),
    counted: explainedOffsets(counters).toString(),
    addsUp: identityOfJob(ranges).kind === 'holds',
    counters: countersText(counters),
  };
}
