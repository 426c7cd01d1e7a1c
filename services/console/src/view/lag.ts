/** Lag per topic and partition, in offsets and in time: pure. */
import { LagState, type Lag as LagValue, lagOf, sumLag } from '@tidemark/control';
import type { Sight } from '../collect/collector.ts';
import { type Known, knownValue } from '../collect/feed.ts';
import { offsetsOf } from '../collect/log-ends.ts';
import type { Track } from '../collect/tracks.ts';
import { PARTITIONS_SHOWN_MAX } from '../limits.ts';
import type { Lag, LagRow } from './schemas.ts';
import { bounded, digitsOrNull, instant, reasonOf, secondsOf } from './words.ts';

export interface TrackedLag {
  readonly track: Track;
  readonly lag: LagValue;
}

/** All partitions of interest, those that are not shown included. */
export function trackedLags(sight: Sight): readonly TrackedLag[] {
  const { ends, states, work } = sight;
  return sight.tracks.tracks.map((track) => ({
    track,
    lag: lagOf({
      cursor: track.cursor,
      cursorAtMs: answeredAtMs(track.isActive ? work : states) ?? sight.nowMs,
      offsets: offsetsOf(knownValue(ends), track),
      offsetsAtMs: ends.kind === 'known' ? ends.atMs : 0,
      oldestTimestampMs: sight.ages(track),
      nowMs: sight.nowMs,
    }),
  }));
}

export function lagView(sight: Sight): Lag {
  const lags = trackedLags(sight);
  const { rows, omitted } = bounded(lags, PARTITIONS_SHOWN_MAX);
  const sum = sumLag(lags.map(({ lag }) => lag));
  const unknown = reasonOf(sight.states) ?? (lags.length > 0 ? reasonOf(sight.ends) : null) ?? cursorsReason(sight);
  const isPartial =
    sight.states.kind === 'unknown' || sight.tracks.topicsOmitted > 0 || sight.tracks.jobsUnknown.length > 0;
  return {
    asOf: instant(sight.nowMs),
    unknown,
    rows: rows.map((row) => lagRow(sight, row)),
    rowsOmitted: omitted,
    jobsOmitted: knownValue(sight.work)?.jobsOmitted ?? 0,
    sum: {
      offsets: unknown !== null && lags.length === 0 ? null : digitsOrNull(sum.offsets),
      isAtLeast: sum.isAtLeast || isPartial,
      seconds: sum.ageMs === undefined || (unknown !== null && lags.length === 0) ? null : secondsOf(sum.ageMs),
      secondsIsAtLeast: sum.ageIsAtLeast || isPartial,
    },
  };
}

function answeredAtMs(known: Known<unknown>): number | undefined {
  return known.kind === 'known' ? known.answeredAtMs : undefined;
}

/** Why the cursors of some jobs are not known; those that are too many to be asked for are counted instead. */
function cursorsReason({ tracks, work }: Sight): string | null {
  const { jobsUnknown } = tracks;
  if (jobsUnknown.length === 0) return null;
  if (work.kind === 'unknown') return work.reason;
  const { followed, jobsOmitted } = work.value;
  const missing = jobsUnknown.filter((jobId) => followed.has(jobId));
  if (missing.length > 0) {
    const jobs = missing.length === 1 ? `job ${missing[0]}` : `${missing.length} jobs under way`;
    return `The cursor store does not hold ${jobs}; the distributor fills it again.`;
  }
  return jobsUnknown.length > jobsOmitted ? 'being looked up' : null;
}

/** As far as it is known a partition may be caught up, while a job that nobody can see is not. */
function stateOf({ track, lag }: TrackedLag): string {
  return track.mayBeLower && lag.state === LagState.caughtUp ? LagState.unknown : lag.state;
}

function lagRow(sight: Sight, tracked: TrackedLag): LagRow {
  const { track, lag } = tracked;
  const offsets = offsetsOf(knownValue(sight.ends), track);
  return {
    topic: track.topic,
    partition: track.partition,
    jobId: track.jobId,
    isActive: track.isActive,
    state: topicFault(sight, track) ?? stateOf(tracked),
    logStart: digitsOrNull(offsets?.logStartOffset),
    cursor: digitsOrNull(track.cursor),
    end: track.end.toString(),
    lastStableOffset: digitsOrNull(offsets?.lastStableOffset),
    highWatermark: digitsOrNull(offsets?.highWatermark),
    lagOffsets: digitsOrNull(lag.offsets),
    isAtLeast: track.mayBeLower,
    lagSeconds: lag.ageMs === undefined ? null : secondsOf(lag.ageMs),
  };
}

function topicFault(sight: Sight, { topic, topicId }: Track): string | undefined {
  const found = knownValue(sight.ends)?.get(topic);
  if (found?.kind === 'missing') return 'topic missing';
  return found?.kind === 'present' && found.topicId !== topicId ? 'topic recreated' : undefined;
}
