/** A transactional session of the in-memory log. */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { OutgoingRecord, TransactionalProducer, TransactionalWriter } from '../ports.ts';
import type { MemoryLog } from './memory-log.ts';
import type { MemoryPartition, MemoryTransaction } from './memory-partition.ts';

export class MemoryTransactionalWriter implements TransactionalWriter {
  readonly #log: MemoryLog;
  readonly #transactionalId: string;
  readonly #session: TransactionalProducer;
  #dead = false;

  constructor(log: MemoryLog, transactionalId: string) {
    this.#log = log;
    this.#transactionalId = transactionalId;
    this.#session = log.openSession(transactionalId);
  }

  get usable(): boolean {
    return !this.#dead;
  }

  async commit(records: readonly OutgoingRecord[]): Promise<void> {
    if (this.#dead) throw fenced('SESSION_ENDED', `${this.#transactionalId}: this session has ended; open a new one`);
    if (records.length === 0) return;
    try {
      this.#log.faults.check('commit');
      if (!this.#log.isCurrentSession(this.#transactionalId, this.#session)) {
        throw fenced('PRODUCER_FENCED', `a newer session of ${this.#transactionalId} has fenced this one`);
      }
      this.#commitNow(records);
      this.#log.faults.check('commit', 'after');
    } catch (error) {
      this.#dead = true;
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#dead = true;
  }

  #commitNow(records: readonly OutgoingRecord[]): void {
    const transaction: MemoryTransaction = { ...this.#session, outcome: 'open' };
    const touched = new Set<MemoryPartition>();
    for (const { topic, partition } of this.#log.append(records, transaction)) {
      const log = this.#log.topic(topic)?.partitions[partition];
      if (log !== undefined) touched.add(log);
    }
    this.#log.endTransaction(transaction, 'committed', touched);
  }
}

function fenced(code: string, message: string): TidemarkError {
  return new TidemarkError({ code, class: ErrorClass.fenced, message });
}
