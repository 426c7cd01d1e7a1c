/**
 * How old the oldest unsettled record is: its own timestamp, read from the log. It stays right while nobody works and
 * while nobody writes, which no estimate from earlier looks does.
 */
import { cursorBefore, nextOffsetOf, type Offset } from '@tidemark/keyspace';
import type { LogReader } from '@tidemark/log';
import { AGE_BOUND_MS, AGE_READS_PER_ROUND } from '../limits.ts';
import { type LogEnds, offsetsOf } from './log-ends.ts';
import type { ConsoleParts } from './parts.ts';
import { keyOfTrack, type Track } from './tracks.ts';

interface Probe {
  readonly cursor: Offset;
  readonly timestampMs: bigint;
  readonly atMs: number;
}

/** Undefined: not known. */
export type Ages = (track: Track) => bigint | undefined;

export interface AgeLooker {
  look(tracks: readonly Track[], ends: LogEnds): Promise<void>;
  readonly ages: Ages;
}

export function createAgeLooker({ cluster }: Pick<ConsoleParts, 'cluster'>, now: () => number): AgeLooker {
  const probes = new Map<string, Probe>();

  /** A record below the cursor is older than any above it, mostly, so it bounds the age until the cursor is looked up. */
  function ages(track: Track): bigint | undefined {
    const probe = probes.get(keyOfTrack(track));
    if (probe === undefined || track.cursor === undefined || probe.cursor > track.cursor) return undefined;
    return probe.cursor === track.cursor || now() - probe.atMs <= AGE_BOUND_MS ? probe.timestampMs : undefined;
  }

  async function probe(reader: LogReader, track: Track, cursor: Offset, highWatermark: Offset): Promise<void> {
    const { topic, topicId, partition } = track;
    const answer = await reader.read({
      source: { topic, topicId, partition },
      cursor,
      end: cursorBefore(highWatermark),
      recordsMax: 1,
      bytesMax: 1,
      waitMs: 0,
    });
    const record = answer.kind === 'chunk' ? answer.chunk.records[0] : undefined;
    if (record === undefined) probes.delete(keyOfTrack(track));
    else probes.set(keyOfTrack(track), { cursor, timestampMs: record.timestampMs, atMs: now() });
  }

  return {
    ages,
    async look(tracks, ends) {
      const wanted = new Set(tracks.map(keyOfTrack));
      for (const key of probes.keys()) if (!wanted.has(key)) probes.delete(key);
      const behind = tracks.flatMap((track) => {
        const offsets = offsetsOf(ends, track);
        const { cursor } = track;
        if (offsets === undefined || cursor === undefined) return [];
        const isBehind = nextOffsetOf(cursor) < offsets.highWatermark;
        return isBehind && probes.get(keyOfTrack(track))?.cursor !== cursor
          ? [{ track, cursor, highWatermark: offsets.highWatermark }]
          : [];
      });
      if (behind.length === 0) return;
      // Whoever waited longest is first, so that many partitions take turns.
      const atMs = (track: Track) => probes.get(keyOfTrack(track))?.atMs ?? 0;
      behind.sort((a, b) => atMs(a.track) - atMs(b.track));
      const reader = cluster.openReader();
      try {
        for (const { track, cursor, highWatermark } of behind.slice(0, AGE_READS_PER_ROUND))
          await probe(reader, track, cursor, highWatermark);
      } finally {
        await reader.close();
      }
    },
  };
}
