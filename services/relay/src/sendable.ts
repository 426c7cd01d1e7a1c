/** Whether a row can be sent as things are, and as what. */
import { assertNever, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { batchBytesOf, type OutgoingRecord } from '@tidemark/log';
import type { OutboxRow } from '@tidemark/outbox';
import { type Envelope, toRecord } from './envelope.ts';
import type { Suspects } from './suspects.ts';
import type { TopicAnswer, TopicDirectory } from './topics.ts';

export interface SendingParts {
  readonly topics: TopicDirectory;
  readonly envelope: Envelope;
  /** What the broker may have refused a batch for travels in ever smaller ones. */
  readonly suspects: Pick<Suspects, 'prefix' | 'verdictOn'>;
}

export type Sendable =
  | { readonly kind: 'record'; readonly record: OutgoingRecord }
  /** It is the row: its key waits, others go on. */
  | { readonly kind: 'row fault'; readonly reason: string }
  /** It is the topic: every row of it would fare alike. */
  | { readonly kind: 'topic fault'; readonly reason: string };

/** At once for almost every row: its topic is known, and its schema. */
export function tryRow(parts: SendingParts, row: OutboxRow): Sendable | Promise<Sendable> {
  const topic = parts.topics.known(row.topic);
  return topic === undefined
    ? parts.topics.lookUp(row.topic).then((found) => tryRowOf(parts, row, found))
    : tryRowOf(parts, row, topic);
}

function tryRowOf(
  { envelope, suspects }: SendingParts,
  row: OutboxRow,
  topic: TopicAnswer,
): Sendable | Promise<Sendable> {
  switch (topic.kind) {
    case 'missing':
      return {
        kind: 'topic fault',
        reason: 'the topic does not exist, and the relay creates none. Create it, then start the relay again',
      };
    case 'changed':
      return {
        kind: 'topic fault',
        reason: `the topic has ${topic.to} partitions now, and its keys were spread over ${topic.from}: they would move, and lose their order; "tidemark relay rebase" shows where, and with --accept-partitions --apply accepts it`,
      };
    case 'usable':
      break;
    default:
      return assertNever(topic);
  }
  const refusal = suspects.verdictOn(row);
  if (refusal !== undefined) return { kind: 'row fault', reason: refusal };
  const { partitionCount, messageBytesMax } = topic;
  try {
    const record = toRecord(envelope, row, partitionCount);
    if (!(record instanceof Promise)) return fitting(record, messageBytesMax);
    return record.then((made) => fitting(made, messageBytesMax)).catch(rowFault);
  } catch (error) {
    return rowFault(error);
  }
}

function fitting(record: OutgoingRecord, messageBytesMax: number): Sendable {
  const bytes = batchBytesOf(record);
  if (bytes <= messageBytesMax) return { kind: 'record', record };
  return {
    kind: 'row fault',
    reason: `it takes ${bytes} bytes, more than the ${messageBytesMax} of the topic's max.message.bytes`,
  };
}

function rowFault(error: unknown): Sendable {
  if (error instanceof TidemarkError && error.class === ErrorClass.data)
    return { kind: 'row fault', reason: error.message };
  throw error;
}
