/**
 * How version 2.2.4 of kafkajs is given records to send. Its own way copies the list of a partition once a record, and
 * each record, header by header, through buffers of 512 zeros: three quarters of a relay's processor time (measured).
 * So it gets our records as they are, grouped already, and where it would encode a produce request, we do. Partitions,
 * sequence numbers, retries and answers stay its own.
 */
import { createRequire } from 'node:module';
import type { Message, ProducerBatch } from 'kafkajs';
import type { PlacedRecord } from '../../outgoing.ts';
import { batchCodecs } from './batch-codecs.ts';
import { type PartitionBatch, produceBody } from './produce-body.ts';

const ALL_REPLICAS = -1;

/** The records of one partition: of them the client asks only how many there are. */
class PartitionRecords {
  readonly records: PlacedRecord[] = [];

  get length(): number {
    return this.records.length;
  }
}

/** Repeatable: a request that is tried again is grouped and encoded again. */
export function toProducerBatch(records: readonly PlacedRecord[]): ProducerBatch {
  const byTopic = Map.groupBy(records, ({ record }) => record.topic);
  const topicMessages = [...byTopic].map(([topic, placed]) => ({ topic, messages: groupedMessages(placed) }));
  return { acks: ALL_REPLICAS, topicMessages };
}

/** The client looks for a message without a value, then reduces the list to lists by partition. */
function groupedMessages(placed: readonly PlacedRecord[]): Message[] {
  const byPartition: Record<number, PartitionRecords> = {};
  for (const one of placed) {
    byPartition[one.partition] ??= new PartitionRecords();
    byPartition[one.partition]?.records.push(one);
  }
  return Object.assign<Message[], object>([], { find: () => undefined, reduce: () => byPartition });
}

interface RequestOfKafkajs {
  readonly acks: number;
  readonly timeout: number;
  readonly transactionalId?: string | null;
  readonly producerId: { toString(): string };
  readonly producerEpoch: number;
  readonly topicData: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly firstSequence: number;
      readonly messages: unknown;
    }[];
  }[];
}

/** What it takes for an encoder. */
interface Encoded {
  readonly buf: Buffer;
  readonly buffer: Buffer;
  size(): number;
}

type RequestMaker = (request: RequestOfKafkajs) => { readonly encode: () => Promise<Encoded> };

/** Versions with the body that we write; the client knows no newer ones. Each is made from the one below it, so from above. */
const VERSIONS = [7, 6, 5, 4, 3];
let replaced = false;

/** For every client of this process; messages that are not ours are encoded as ever. */
export function replaceProduceEncoding(): void {
  if (replaced) return;
  replaced = true;
  const require = createRequire(import.meta.url);
  for (const version of VERSIONS) {
    const file = require.resolve(`kafkajs/src/protocol/requests/produce/v${version}/request`);
    const original = require(file) as RequestMaker;
    const module = require.cache[file];
    if (module === undefined) throw new Error(`${file} is loaded and not in the cache`);
    const make: RequestMaker = (request) => {
      const made = original(request);
      const topics = oursOf(request);
      return topics === undefined ? made : { ...made, encode: async () => encode(request, topics) };
    };
    module.exports = make;
  }
}

type Topics = readonly { readonly topic: string; readonly partitions: readonly PartitionBatch[] }[];

/** Undefined when somebody else made the messages. */
function oursOf({ topicData }: RequestOfKafkajs): Topics | undefined {
  const topics: { topic: string; partitions: PartitionBatch[] }[] = [];
  for (const { topic, partitions } of topicData) {
    const batches: PartitionBatch[] = [];
    for (const { partition, firstSequence, messages } of partitions) {
      if (!(messages instanceof PartitionRecords)) return undefined;
      batches.push({ partition, firstSequence, records: messages.records });
    }
    topics.push({ topic, partitions: batches });
  }
  return topics;
}

function encode(request: RequestOfKafkajs, topics: Topics): Encoded {
  const { acks, timeout, transactionalId, producerId, producerEpoch } = request;
  const buffer = produceBody(
    {
      transactionalId: transactionalId ?? undefined,
      acks,
      timeoutMs: timeout,
      producerId: BigInt(producerId.toString()),
      producerEpoch,
      topics,
      nowMs: BigInt(Date.now()),
    },
    batchCodecs.checksum,
  );
  return { buf: buffer, buffer, size: () => buffer.length };
}
