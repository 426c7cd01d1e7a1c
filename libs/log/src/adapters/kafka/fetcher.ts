/**
 * Fetches raw answers of partitions from their leaders. It finds the leader, tries a bounded number of times through
 * elections and broken connections, and knows when a topic is gone. It keeps no position and judges no answer.
 */
import { describeError, ErrorClass, orAborted, TidemarkError } from '@tidemark/keyspace';
import { FETCH_ATTEMPTS_MAX, FETCH_WAIT_MS_MAX, IDENTITY_OBSERVATIONS } from '../../limits.ts';
import type { PartitionOffsets, ReadAnswer, Source } from '../../ports.ts';
import { backOff } from './backoff.ts';
import type { BrokerConnections } from './connections.ts';
import { errorNameOf } from './error-names.ts';
import { aborted, unavailable } from './errors.ts';
import { listOffsets } from './partition-offsets.ts';
import { ErrorCode, fetchBatches, type IsolationLevel, type RawAnswer, type RawPartition } from './protocol.ts';
import { fetchTopicMetadata } from './topic-metadata.ts';
import type { Broker } from './wire/broker-connection.ts';

/** The topic is not there, or another one has its name. */
export type Gone = Extract<ReadAnswer, { kind: 'topic missing' | 'topic recreated' }>;

export type FetchOutcome =
  | { readonly kind: 'answer'; readonly partition: RawPartition }
  | { readonly kind: 'out of range' }
  /** The broker itself refuses to hand the data out. */
  | { readonly kind: 'refused'; readonly message: string }
  | Gone;

export interface FoundOffsets {
  readonly kind: 'offsets';
  readonly offsets: PartitionOffsets;
}

export interface FetchOrder {
  readonly source: Source;
  readonly fetchOffset: bigint;
  readonly bytesMax: number;
  readonly waitMs: number;
  /** Default: read committed. */
  readonly isolation?: IsolationLevel;
  readonly signal?: AbortSignal;
}

/** What the reader needs; its tests script one. */
export interface Fetcher {
  fetch(order: FetchOrder): Promise<FetchOutcome>;
  /** The partition's offsets, with proof that they belong to this incarnation of the topic. */
  offsets(source: Source, signal?: AbortSignal): Promise<FoundOffsets | Gone>;
  close(): Promise<void>;
}

interface Leader {
  readonly broker: Broker;
  readonly leaderEpoch: number;
}

/** The question was put to the wrong broker or at the wrong moment. */
interface Again {
  readonly kind: 'again';
  readonly reason: string;
}

function again(reason: string): Again {
  return { kind: 'again', reason };
}

export class PartitionFetcher implements Fetcher {
  readonly #connections: BrokerConnections;
  #source: Source | undefined;
  #leader: Leader | undefined;
  /** The last request got no answer in all its attempts. */
  #down = false;

  constructor(connections: BrokerConnections) {
    this.#connections = connections;
  }

  fetch(order: FetchOrder): Promise<FetchOutcome> {
    const { source, signal, ...wanted } = order;
    const waitMs = Math.min(order.waitMs, FETCH_WAIT_MS_MAX);
    return this.#askLeader<FetchOutcome>(source, signal, async ({ broker, leaderEpoch }) => {
      const connection = await this.#connections.to(broker);
      return outcomeOf(await fetchBatches(connection, { ...wanted, source, leaderEpoch, waitMs }));
    });
  }

  offsets(source: Source, signal?: AbortSignal): Promise<FoundOffsets | Gone> {
    return this.#askLeader<FoundOffsets>(source, signal, async (leader) => {
      const [offsets] = await listOffsets(this.#connections, source.topic, [
        { partition: source.partition, ...leader },
      ]);
      // ListOffsets goes by name. If the topic was recreated before it, the metadata after it says so.
      const after = await fetchTopicMetadata(this.#connections, source.topic);
      if (offsets === undefined || after?.topicId !== source.topicId) return again('the topic changed meanwhile');
      return { kind: 'offsets', offsets };
    });
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  async #askLeader<T extends { readonly kind: string }>(
    source: Source,
    signal: AbortSignal | undefined,
    ask: (leader: Leader) => Promise<T | Again>,
  ): Promise<T | Gone> {
    this.#forgetOtherSource(source);
    const gone = new GoneSightings();
    let reason = '';
    for (let attempt = 0; attempt < FETCH_ATTEMPTS_MAX; attempt++) {
      if (attempt > 0) await backOff(attempt - 1, signal);
      try {
        const leader = this.#leader ?? (await unlessAborted(this.#findLeader(source), signal));
        if ('kind' in leader) {
          if (gone.confirmedBy(leader)) return leader;
          reason = leader.kind;
          continue;
        }
        this.#leader = leader;
        const answer = await unlessAborted(ask(leader), signal);
        this.#down = false;
        if (!isAgain(answer)) return answer;
        reason = answer.reason;
      } catch (error) {
        // A request on the wire cannot be taken back: after an error, or when the caller gave up, its connection goes.
        await this.#connections.dropAll();
        if (signal?.aborted === true) throw aborted();
        if (error instanceof TidemarkError && error.class !== ErrorClass.unavailable) throw error;
        reason = describeError(error);
        // A fetch ahead may be under way when its reader is closed.
        if (this.#down || this.#connections.closed) break;
      }
      this.#leader = undefined;
    }
    this.#down = true;
    throw unavailable(`${source.topic}/${source.partition} cannot be read at the moment: ${reason}`, {
      context: { topic: source.topic, partition: source.partition },
    });
  }

  async #findLeader(source: Source): Promise<Leader | Gone> {
    const topic = await fetchTopicMetadata(this.#connections, source.topic);
    if (topic === undefined) return { kind: 'topic missing' };
    if (topic.topicId !== source.topicId) return { kind: 'topic recreated', topicId: topic.topicId };
    const found = topic.leaders.find((leader) => leader.partition === source.partition);
    if (found?.broker === undefined)
      throw unavailable(`${source.topic}/${source.partition} has no leader at the moment`);
    return { broker: found.broker, leaderEpoch: found.leaderEpoch };
  }

  #forgetOtherSource(source: Source): void {
    if (this.#source?.topicId !== source.topicId || this.#source.partition !== source.partition)
      this.#leader = undefined;
    this.#source = source;
  }
}

function isAgain(answer: { readonly kind: string }): answer is Again {
  return answer.kind === 'again';
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return signal === undefined ? work : orAborted(work, signal, aborted);
}

/** One answer that a topic is gone may come from a broker that is only starting; several in a row are believed. */
class GoneSightings {
  #last: Gone | undefined;
  #count = 0;

  confirmedBy(sighting: Gone): boolean {
    this.#count = sighting.kind === this.#last?.kind ? this.#count + 1 : 1;
    this.#last = sighting;
    return this.#count >= IDENTITY_OBSERVATIONS;
  }
}

function outcomeOf(answer: RawAnswer): FetchOutcome | Again {
  const code = answer.errorCode === ErrorCode.none ? answer.partition?.errorCode : answer.errorCode;
  switch (code) {
    case undefined:
      return again('the broker throttles this client');
    case ErrorCode.none:
      return answer.partition === undefined ? again('empty answer') : { kind: 'answer', partition: answer.partition };
    case ErrorCode.offsetOutOfRange:
      return { kind: 'out of range' };
    case ErrorCode.corruptMessage:
    case ErrorCode.unsupportedCompressionType:
      return { kind: 'refused', message: `the broker answers ${errorNameOf(code)}` };
    default:
      // Elections, restarts and stale metadata all end here; asking the metadata again tells which it is.
      return again(errorNameOf(code));
  }
}
