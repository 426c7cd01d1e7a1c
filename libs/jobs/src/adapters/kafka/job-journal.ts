/** The durable state of all jobs: compacted topics, written by one fenced transactional session. */
import {
  type Codec,
  type DistributorPosition,
  type JobState,
  type RangeCheckpoint,
  SchemaName,
  type SeriesState,
  type StoreEpoch,
} from '@tidemark/contracts';
import { type RangeRef, rangeIdOf, toOffset } from '@tidemark/keyspace';
import { type LogCluster, type LogRecord, type LogWriter, type OutgoingRecord, scanTopic } from '@tidemark/log';
import { NewestCheckpoints } from '../../checkpoint.ts';
import { deadLetterHeaders } from '../../dead-letter.ts';
import { seriesInFormat, stateInFormat } from '../../formats.ts';
import { isTerminal } from '../../job-state.ts';
import type { DeadRequest, DurableJobs, JobJournal, JournalEntry } from '../../ports.ts';
import { seriesKey } from '../../series-definition.ts';
import { jobTopics } from '../../topics.ts';
import { withoutPlace } from './job-log.ts';
import { ownTopicBroken } from './own-topic.ts';
import { checkpointKey, decodeStored, rangeOfCheckpointKey, recordIf, takeEither } from './stored-records.ts';

export interface JobJournalOptions {
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly namespace: string;
  readonly transactionalId: string;
}

const EPOCH_KEY = Buffer.from('epoch');
/** Of the marks topic: whoever trusts marks and floors must know which store they are in. */
const STORE_KEY = Buffer.from('store');

/** Fences every older session of the transactional id before it resolves. */
export async function openJobJournal(options: JobJournalOptions): Promise<JobJournal> {
  const { cluster, codec, namespace, transactionalId } = options;
  const topics = jobTopics(namespace);
  const session = await cluster.openTransactionalWriter({
    transactionalId,
  });
  let epochWriter: LogWriter | undefined;

  return {
    get usable() {
      return session.usable;
    },
    load: (signal) => loadJobs(options, signal),
    commit: async (entry) => session.commit(await recordsOf(entry, codec, namespace)),
    writeEpoch: async (epoch) => {
      const value = await codec.encode(SchemaName.storeEpoch, epoch);
      epochWriter ??= await cluster.openWriter();
      const [appended] = await epochWriter.append([{ topic: topics.checkpoints, partition: 0, key: EPOCH_KEY, value }]);
      if (appended === undefined) throw withoutPlace();
      return appended.offset;
    },
    close: async () => {
      await Promise.allSettled([session.close(), epochWriter?.close()]);
    },
  };
}

async function recordsOf(entry: JournalEntry, codec: Codec, namespace: string): Promise<readonly OutgoingRecord[]> {
  const topics = jobTopics(namespace);
  const records: OutgoingRecord[] = [];
  for (const state of entry.states ?? []) {
    records.push({
      topic: topics.jobState,
      key: Buffer.from(state.jobId),
      value: await codec.encode(SchemaName.jobState, stateInFormat(state)),
    });
  }
  for (const state of entry.series ?? []) {
    const value = await codec.encode(SchemaName.seriesState, seriesInFormat(state));
    records.push({ topic: topics.jobState, key: Buffer.from(seriesKey(state.series)), value });
  }
  for (const event of entry.events ?? []) {
    records.push({
      topic: topics.jobEvents,
      key: Buffer.from(event.jobId),
      value: await codec.encode(SchemaName.jobEvent, event),
    });
  }
  for (const checkpoint of entry.checkpoints ?? []) {
    records.push({
      topic: topics.checkpoints,
      key: checkpointKey(checkpoint.jobId, checkpoint),
      value: await codec.encode(SchemaName.rangeCheckpoint, checkpoint),
    });
  }
  for (const { jobId, ranges } of entry.removals ?? []) {
    records.push({ topic: topics.jobState, key: Buffer.from(jobId), value: null });
    for (const range of ranges)
      records.push({ topic: topics.checkpoints, key: checkpointKey(jobId, range), value: null });
  }
  if (entry.store !== undefined) {
    const value = await codec.encode(SchemaName.storeEpoch, entry.store);
    records.push({ topic: topics.marks, partition: 0, key: STORE_KEY, value });
  }
  for (const dead of entry.deadLetters ?? []) records.push(deadLetter(topics.jobsDeadLetters, topics.jobs, dead));
  const { position } = entry;
  const positionKey = Buffer.from(`jobs-position/${position.partition}`);
  records.push({
    topic: topics.checkpoints,
    key: positionKey,
    value: await codec.encode(SchemaName.distributorPosition, position),
  });
  return records;
}

/** Byte-exact, with where it came from and why. */
function deadLetter(topic: string, source: string, { raw, place, code, reason }: DeadRequest): OutgoingRecord {
  const origin = { topic: source, ...place };
  const headers = deadLetterHeaders({ headers: raw.headers, origin, fields: { code }, error: reason });
  return { topic, partition: 0, key: raw.key, value: raw.value, headers };
}

async function loadJobs(options: JobJournalOptions, signal: AbortSignal): Promise<DurableJobs> {
  const { cluster, codec, namespace } = options;
  const topics = jobTopics(namespace);
  const scan = async (name: string, visit: (record: LogRecord) => Promise<void>): Promise<void> => {
    const topic = await cluster.catalog.describe(name);
    if (topic === undefined) throw ownTopicBroken(name, 'it does not exist');
    await scanTopic({ cluster, topic, visit, signal });
  };
  const states = new Map<string, JobState>();
  const series = new Map<string, SeriesState>();
  await scan(topics.jobState, (record) => takeEither({ states, series }, codec, record));
  const shelf = new CheckpointShelf(states);
  await scan(topics.checkpoints, (record) => shelf.take(codec, record));
  const { position, epoch } = shelf;
  return { states, series, checkpoints: shelf.checkpoints(), endedRanges: shelf.endedRanges(), position, epoch };
}

/**
 * Collects the checkpoints topic. Of jobs that ended only the names of their ranges are kept, as long as the states are, and
 * of removed ones nothing.
 */
class CheckpointShelf {
  readonly #states: ReadonlyMap<string, JobState>;
  readonly #ranges = new Map<string, NewestCheckpoints>();
  readonly #ended = new Map<string, Map<string, RangeRef>>();
  position: DistributorPosition | undefined;
  epoch: StoreEpoch | undefined;

  constructor(states: ReadonlyMap<string, JobState>) {
    this.#states = states;
  }

  async take(codec: Codec, record: LogRecord): Promise<void> {
    if (record.value === null) {
      const gone = rangeOfCheckpointKey(record.key);
      if (gone !== undefined) this.#ranges.get(gone.jobId)?.forget(gone.range);
      if (gone !== undefined) this.#ended.get(gone.jobId)?.delete(rangeIdOf(gone.range));
      return;
    }
    const decoded = await decodeStored(codec, record.value);
    this.position = recordIf(decoded, SchemaName.distributorPosition) ?? this.position;
    this.epoch = recordIf(decoded, SchemaName.storeEpoch) ?? this.epoch;
    const checkpoint = recordIf(decoded, SchemaName.rangeCheckpoint);
    const state = this.#states.get(checkpoint?.jobId ?? '');
    if (checkpoint === undefined || state === undefined) return;
    if (isTerminal(state.state)) {
      const ended = this.#ended.get(state.jobId) ?? new Map<string, RangeRef>();
      const range = { partition: checkpoint.partition, start: toOffset(checkpoint.start) };
      this.#ended.set(state.jobId, ended.set(rangeIdOf(range), range));
      return;
    }
    const ranges = this.#ranges.get(checkpoint.jobId) ?? new NewestCheckpoints();
    this.#ranges.set(checkpoint.jobId, ranges);
    ranges.take(checkpoint);
  }

  checkpoints(): ReadonlyMap<string, readonly RangeCheckpoint[]> {
    return new Map([...this.#ranges].map(([jobId, ranges]) => [jobId, ranges.all()]));
  }

  endedRanges(): ReadonlyMap<string, readonly RangeRef[]> {
    return new Map([...this.#ended].map(([jobId, ranges]) => [jobId, [...ranges.values()]]));
  }
}
