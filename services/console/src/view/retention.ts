/** What the logs must keep, and for whom: pure. */
import { type RetentionFacts, retentionOf } from '@tidemark/control';
import type { Sight } from '../collect/collector.ts';
import { knownValue } from '../collect/feed.ts';
import { offsetsOf } from '../collect/log-ends.ts';
import { keyOfTrack, type Track } from '../collect/tracks.ts';
import { HOLDERS_SHOWN_MAX, PARTITIONS_SHOWN_MAX } from '../limits.ts';
import type { Retention, RetentionRow } from './schemas.ts';
import { bounded, digitsOrNull, instant, reasonOf } from './words.ts';

export function retentionView(sight: Sight): Retention {
  const { rows, omitted } = bounded(sight.tracks.tracks, PARTITIONS_SHOWN_MAX);
  const unknown =
    reasonOf(sight.states) ??
    (rows.length > 0 ? (reasonOf(sight.floors) ?? reasonOf(sight.ends) ?? reasonOf(sight.work)) : null);
  return {
    asOf: instant(sight.nowMs),
    unknown,
    rows: rows.map((track) => retentionRow(sight, track)),
    rowsOmitted: omitted,
  };
}

function retentionRow(sight: Sight, track: Track): RetentionRow {
  const offsets = offsetsOf(knownValue(sight.ends), track);
  const { state, mark, floor, holders, heldOffsets, margin } = retentionOf({
    offsets,
    look: lookOf(sight, keyOfTrack(track)),
    storeNowMs: storeNowMs(sight),
  });
  return {
    topic: track.topic,
    partition: track.partition,
    state,
    logStart: digitsOrNull(offsets?.logStartOffset),
    mark: digitsOrNull(mark),
    floor: digitsOrNull(floor?.offset),
    holders: holders.slice(0, HOLDERS_SHOWN_MAX).map(({ holder, offset, reservedUntilMs }) => ({
      holder,
      floor: offset.toString(),
      isReservation: reservedUntilMs !== undefined,
    })),
    holdersOmitted: Math.max(0, holders.length - HOLDERS_SHOWN_MAX),
    highWatermark: digitsOrNull(offsets?.highWatermark),
    heldOffsets: digitsOrNull(heldOffsets),
    margin: digitsOrNull(margin),
  };
}

function lookOf(sight: Sight, key: string): RetentionFacts['look'] {
  const looks = knownValue(sight.floors);
  return looks?.has(key) === true ? looks.get(key) : 'unknown';
}

/** Reservations run out by the store's clock, which is known as well as the last look at the workers told it. */
function storeNowMs({ work, nowMs }: Sight): number {
  return work.kind === 'known' ? work.value.storeNowMs + (nowMs - work.atMs) : nowMs;
}
