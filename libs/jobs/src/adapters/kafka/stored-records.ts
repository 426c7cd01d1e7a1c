/** Reading our records: told apart by their schema on one topic, and known by their keys. */
import {
  type Codec,
  type Decoded,
  type JobState,
  type RangeCheckpoint,
  type RecordOf,
  readRecord,
  SchemaName,
  type SeriesState,
} from '@tidemark/contracts';
import { type RangeRef, toOffset } from '@tidemark/keyspace';
import type { LogRecord } from '@tidemark/log';

export async function decodeStored(codec: Codec, value: Buffer): Promise<Decoded> {
  return codec.decodeCached(value) ?? (await codec.decode(value));
}

/** The record when it was written with this schema. Throws TidemarkError `config` (NEWER_FORMAT) when a newer program wrote it. */
export function recordIf<Name extends SchemaName>(decoded: Decoded, name: Name): RecordOf<Name> | undefined {
  return decoded.schema === name ? readRecord(decoded, name) : undefined;
}

/** Of the job-state topic: the newest state stands, a tombstone removes it. Series are passed by, by their schema. */
export async function takeState(states: Map<string, JobState>, codec: Codec, record: LogRecord): Promise<void> {
  if (record.value === null) {
    if (record.key !== null) states.delete(record.key.toString());
    return;
  }
  const state = recordIf(await decodeStored(codec, record.value), SchemaName.jobState);
  if (state !== undefined) states.set(state.jobId, state);
}

/** Of the same topic: the series. Nobody removes one, because it remembers the number of its newest run. */
export async function takeSeries(series: Map<string, SeriesState>, codec: Codec, record: LogRecord): Promise<void> {
  if (record.value === null) return;
  const state = recordIf(await decodeStored(codec, record.value), SchemaName.seriesState);
  if (state !== undefined) series.set(state.series, state);
}

/** Both, for whoever needs what they were at one moment. */
export async function takeEither(
  { states, series }: { readonly states: Map<string, JobState>; readonly series: Map<string, SeriesState> },
  codec: Codec,
  record: LogRecord,
): Promise<void> {
  await takeState(states, codec, record);
  await takeSeries(series, codec, record);
}

export function checkpointKey(
  jobId: string,
  { partition, start }: Pick<RangeCheckpoint, 'partition' | 'start'>,
): Buffer {
  return Buffer.from(`${checkpointKeyPrefix(jobId)}${partition}/${start}`);
}

/** Undefined for a key of something else on the topic: no job id has a slash. */
export function rangeOfCheckpointKey(key: Buffer | null): { jobId: string; range: RangeRef } | undefined {
  const [, jobId, partition, start] = /^([^/]+)\/(\d+)\/(-?\d+)$/.exec(key?.toString() ?? '') ?? [];
  if (jobId === undefined || partition === undefined || start === undefined) return undefined;
  return { jobId, range: { partition: Number(partition), start: toOffset(BigInt(start)) } };
}

/** What the keys of all checkpoints of a job begin with, so that those of other jobs need not be decoded. */
export function checkpointKeyPrefix(jobId: string): string {
  return `${jobId}/`;
}
