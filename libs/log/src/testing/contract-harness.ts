/** What the contract suite asks of its subject, and the records that it writes. */
import { TidemarkError } from '@tidemark/keyspace';
import type { LogCluster, OutgoingRecord, Source, TopicDescription } from '../ports.ts';

/** A transaction that stays open until the test ends it. */
export interface DrivenTransaction {
  append(records: readonly OutgoingRecord[]): Promise<void>;
  commit(): Promise<void>;
  abort(): Promise<void>;
}

export interface LogHarness {
  readonly cluster: LogCluster;
  /** A name that no other test has. */
  uniqueName(base: string): string;
  createTopic(options?: {
    readonly partitionCount?: number;
    readonly configs?: Readonly<Record<string, string>>;
  }): Promise<TopicDescription>;
  deleteTopic(topic: string): Promise<void>;
  /** As a consumer group whose members are away. */
  commitOffset(group: string, topic: string, partition: number, offset: bigint): Promise<void>;
  begin(): Promise<DrivenTransaction>;
  close(): Promise<void>;
}

export function sourceOf({ topic, topicId }: TopicDescription, partition = 0): Source {
  return { topic, topicId, partition };
}

export function recordFor(topic: TopicDescription, value: string | null, key: string | null = null): OutgoingRecord {
  return {
    topic: topic.topic,
    partition: 0,
    key: key === null ? null : Buffer.from(key),
    value: value === null ? null : Buffer.from(value),
  };
}

export function numbered(topic: TopicDescription, from: number, count: number): OutgoingRecord[] {
  return Array.from({ length: count }, (_, index) => recordFor(topic, String(from + index)));
}

export async function append(cluster: LogCluster, records: readonly OutgoingRecord[]) {
  const writer = await cluster.openWriter();
  try {
    return await writer.append(records);
  } finally {
    await writer.close();
  }
}

export async function refusal(act: Promise<unknown>): Promise<TidemarkError> {
  const thrown = await act.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (thrown instanceof TidemarkError) return thrown;
  throw new Error(`expected a TidemarkError, got ${String(thrown)}`);
}
