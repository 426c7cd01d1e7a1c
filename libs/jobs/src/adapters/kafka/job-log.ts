/** The jobs as CLI, API and other services see them. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Codec,
  type JobCommand,
  type JobRequested,
  type JobState,
  type RangeCheckpoint,
  type RecordOf,
  SchemaName,
  type SeriesOrder,
  type SeriesState,
} from '@tidemark/contracts';
import { ErrorClass, type Offset, TidemarkError } from '@tidemark/keyspace';
import {
  follow,
  type LogCluster,
  type LogRecord,
  type LogWriter,
  scanTopic,
  type TopicDescription,
} from '@tidemark/log';
import { NewestCheckpoints } from '../../checkpoint.ts';
import { requestInFormat, seriesOrderInFormat } from '../../formats.ts';
import { FOLLOW_MISSING_TOPIC_MS } from '../../limits.ts';
import type { JobLog, JobsAndSeries } from '../../ports.ts';
import { seriesKey } from '../../series-definition.ts';
import { type JobTopics, jobTopicSpecs, jobTopics } from '../../topics.ts';
import {
  checkpointKeyPrefix,
  decodeStored,
  rangeOfCheckpointKey,
  recordIf,
  takeEither,
  takeSeries,
  takeState,
} from './stored-records.ts';

export interface JobLogOptions {
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly namespace: string;
  /** For the case that the first request comes before the first distributor. Default 1. */
  readonly replicationFactor?: number;
}

/** The cluster and the codec stay the caller's: `close` closes what was opened here. */
export function createJobLog(options: JobLogOptions): JobLog {
  return new KafkaJobLog(options);
}

class KafkaJobLog implements JobLog {
  readonly #options: JobLogOptions;
  readonly #topics: JobTopics;
  #opening: Promise<LogWriter> | undefined;

  constructor(options: JobLogOptions) {
    this.#options = options;
    this.#topics = jobTopics(options.namespace);
  }

  async request(request: JobRequested): Promise<{ partition: number; offset: Offset }> {
    return this.#append(
      request.jobId,
      await this.#options.codec.encode(SchemaName.jobRequested, requestInFormat(request)),
    );
  }

  async command(command: JobCommand): Promise<{ partition: number; offset: Offset }> {
    return this.#append(command.jobId, await this.#options.codec.encode(SchemaName.jobCommand, command));
  }

  async orderSeries(order: SeriesOrder): Promise<{ partition: number; offset: Offset }> {
    return this.#append(
      seriesKey(order.series),
      await this.#options.codec.encode(SchemaName.seriesOrder, seriesOrderInFormat(order)),
    );
  }

  async series(): Promise<ReadonlyMap<string, SeriesState>> {
    const series = new Map<string, SeriesState>();
    await this.#scan(this.#topics.jobState, (record) => takeSeries(series, this.#options.codec, record));
    return series;
  }

  async states(): Promise<ReadonlyMap<string, JobState>> {
    const states = new Map<string, JobState>();
    await this.#scan(this.#topics.jobState, (record) => takeState(states, this.#options.codec, record));
    return states;
  }

  async jobsAndSeries(): Promise<JobsAndSeries> {
    const found = { states: new Map<string, JobState>(), series: new Map<string, SeriesState>() };
    await this.#scan(this.#topics.jobState, (record) => takeEither(found, this.#options.codec, record));
    return found;
  }

  async checkpoints(jobId: string): Promise<readonly RangeCheckpoint[]> {
    const newest = new NewestCheckpoints();
    const prefix = checkpointKeyPrefix(jobId);
    await this.#scan(this.#topics.checkpoints, async ({ key, value }) => {
      if (key === null || !key.toString().startsWith(prefix)) return;
      if (value === null) {
        const gone = rangeOfCheckpointKey(key);
        if (gone !== undefined) newest.forget(gone.range);
        return;
      }
      const checkpoint = recordIf(await decodeStored(this.#options.codec, value), SchemaName.rangeCheckpoint);
      if (checkpoint !== undefined) newest.take(checkpoint);
    });
    return newest.all();
  }

  follow(onState: (state: JobState) => void, signal: AbortSignal): Promise<void> {
    return this.#follow(SchemaName.jobState, onState, signal);
  }

  followSeries(onState: (state: SeriesState) => void, signal: AbortSignal): Promise<void> {
    return this.#follow(SchemaName.seriesState, onState, signal);
  }

  async #follow<Name extends SchemaName>(
    name: Name,
    onState: (state: RecordOf<Name>) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { cluster } = this.#options;
    // The log goes on to show what was removed: whoever waits for a job under the id of a former one must not hear of that.
    const removedAt = new Map<string, Offset>();
    const noteRemoval = ({ key, value, offset }: LogRecord): void => {
      if (value === null && key !== null) removedAt.set(key.toString(), offset);
    };
    const isRemoved = ({ key, offset }: LogRecord): boolean =>
      removedAt.size > 0 && key !== null && offset < (removedAt.get(key.toString()) ?? 0n);
    const visit = async (record: LogRecord): Promise<void> => {
      const state = isRemoved(record) ? undefined : await this.#decode(record, name);
      if (state !== undefined && !signal.aborted) onState(state);
    };
    try {
      const topic = await this.#untilCreated(signal);
      await scanTopic({ cluster, topic, visit: noteRemoval, signal });
      const position = await scanTopic({ cluster, topic, visit, signal });
      await follow({ cluster, position, visit, signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async close(): Promise<void> {
    const opened = this.#opening;
    this.#opening = undefined;
    if (opened !== undefined) await (await opened).close();
  }

  async #append(key: string, value: Buffer): Promise<{ partition: number; offset: Offset }> {
    this.#opening ??= this.#open();
    const opening = this.#opening;
    try {
      const writer = await opening;
      const [appended] = await writer.append([{ topic: this.#topics.jobs, key: Buffer.from(key), value }]);
      if (appended === undefined) throw withoutPlace();
      return { partition: appended.partition, offset: appended.offset };
    } catch (error) {
      // The next call opens anew: a writer may be unusable after an error.
      if (this.#opening === opening) this.#opening = undefined;
      await closeQuietly(opening);
      throw error;
    }
  }

  async #open(): Promise<LogWriter> {
    const { cluster, namespace, replicationFactor = 1 } = this.#options;
    await cluster.catalog.ensure(jobTopicSpecs(namespace, replicationFactor).jobs);
    return cluster.openWriter();
  }

  /** Of a topic that nobody created yet there is nothing to see. */
  async #scan(name: string, visit: (record: LogRecord) => Promise<void>): Promise<void> {
    const { cluster } = this.#options;
    const topic = await cluster.catalog.describe(name);
    if (topic !== undefined) await scanTopic({ cluster, topic, visit });
  }

  async #decode<Name extends SchemaName>(record: LogRecord, name: Name): Promise<RecordOf<Name> | undefined> {
    if (record.value === null) return undefined;
    return recordIf(await decodeStored(this.#options.codec, record.value), name);
  }

  async #untilCreated(signal: AbortSignal): Promise<TopicDescription> {
    for (;;) {
      const topic = await this.#options.cluster.catalog.describe(this.#topics.jobState);
      if (topic !== undefined) return topic;
      await delay(FOLLOW_MISSING_TOPIC_MS, undefined, { signal });
    }
  }
}

export function withoutPlace(): TidemarkError {
  const message = 'the log acknowledged a record without saying where it is';
  return new TidemarkError({ code: 'NO_PLACE', class: ErrorClass.bug, message });
}

async function closeQuietly(opening: Promise<LogWriter>): Promise<void> {
  try {
    await (await opening).close();
  } catch {
    // What opening or closing a broken writer says adds nothing to the error that broke it.
  }
}
