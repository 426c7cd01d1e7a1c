/** What the parts of the in-memory cluster share. */
import type { AppendedRecord, OutgoingRecord, TopicSpec, TransactionalProducer } from '../ports.ts';
import type { MemoryFaults } from './memory-faults.ts';
import type { MemoryPartition, MemoryTransaction } from './memory-partition.ts';

export interface MemoryTopic {
  readonly spec: TopicSpec;
  readonly topicId: string;
  readonly partitions: MemoryPartition[];
}

export interface MemoryLog {
  readonly faults: MemoryFaults;
  topic(name: string): MemoryTopic | undefined;
  append(records: readonly OutgoingRecord[], transaction?: MemoryTransaction): readonly AppendedRecord[];
  endTransaction(
    transaction: MemoryTransaction,
    outcome: 'committed' | 'aborted',
    touched: Iterable<MemoryPartition>,
  ): void;
  /** Resolves at the next change of any log, after `waitMs`, or when the signal aborts. */
  changed(waitMs: number, signal?: AbortSignal): Promise<void>;
  /** Fences the open session of the id, ends its transaction, and returns who writes in the new one. */
  openSession(transactionalId: string): TransactionalProducer;
  /** For a transaction that stays open for a while. The answer takes it back. */
  whenFenced(transactionalId: string, abort: () => void): () => void;
  isCurrentSession(transactionalId: string, session: TransactionalProducer): boolean;
  /** Of the newest session of the id. */
  producerOf(transactionalId: string): TransactionalProducer | undefined;
}
