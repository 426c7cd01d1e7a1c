/** Looking at and ending transactions of the in-memory log. */
import { ErrorClass, type Offset, TidemarkError } from '@tidemark/keyspace';
import type {
  LogEntry,
  LogTransactions,
  OngoingTransaction,
  PartitionName,
  Source,
  TransactionalProducer,
  TransactionOutcome,
} from '../ports.ts';
import type { MemoryLog } from './memory-log.ts';
import type { MemoryPartition } from './memory-partition.ts';

export class MemoryTransactions implements LogTransactions {
  readonly #log: MemoryLog;

  constructor(log: MemoryLog) {
    this.#log = log;
  }

  async ongoing(partitions: readonly PartitionName[]): Promise<readonly OngoingTransaction[]> {
    this.#log.faults.check('transactions');
    return partitions.flatMap((name) => {
      const ongoing = this.#partition(name)?.ongoing() ?? [];
      return ongoing.map(({ transaction: { producerId, producerEpoch }, firstOffset }) => {
        const { topic, partition } = name;
        return { topic, partition, producerId, producerEpoch, coordinatorEpoch: -1, firstOffset };
      });
    });
  }

  async producerOf(transactionalId: string): Promise<TransactionalProducer | undefined> {
    this.#log.faults.check('transactions');
    return this.#log.producerOf(transactionalId);
  }

  async *entries(source: Source, from: Offset): AsyncGenerator<LogEntry, void, undefined> {
    this.#log.faults.check('transactions');
    const partition = this.#partition(source);
    if (partition === undefined) throw gone(source);
    yield* partition.entriesFrom(from);
  }

  async end(transaction: OngoingTransaction, outcome: TransactionOutcome): Promise<void> {
    this.#log.faults.check('transactions');
    const partition = this.#partition(transaction);
    if (partition === undefined) throw gone(transaction);
    const found = partition.ongoing().find(({ transaction: { producerId } }) => producerId === transaction.producerId);
    if (found === undefined) return;
    const ended = outcome === 'commit' ? 'committed' : 'aborted';
    this.#log.endTransaction(found.transaction, ended, [partition]);
  }

  #partition({ topic, partition }: PartitionName): MemoryPartition | undefined {
    return this.#log.topic(topic)?.partitions[partition];
  }
}

function gone({ topic, partition }: PartitionName): TidemarkError {
  const message = `${topic}/${partition} does not exist`;
  return new TidemarkError({ code: 'KAFKA_UNAVAILABLE', class: ErrorClass.unavailable, message });
}
