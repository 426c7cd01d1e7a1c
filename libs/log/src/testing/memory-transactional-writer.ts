/** A transactional session of the in-memory log. */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { Behind, OutgoingRecord, TransactionalProducer, TransactionalWriter } from '../ports.ts';
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

  async commit(records: readonly OutgoingRecord[], behind?: Behind): Promise<void> {
    if (this.#dead) throw fenced('SESSION_ENDED', `${this.#transactionalId}: this session has ended; open a new one`);
    if (records.length === 0) return;
    try {
      this.#log.faults.check('commit');
      this.#requireCurrent();
      if (behind === undefined) this.#commitNow(records);
      else await this.#commitWith(records, behind);
      this.#log.faults.check('commit', 'after');
    } catch (error) {
      this.#dead = true;
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#dead = true;
  }

  /** In one go: nobody sees it open. */
  #commitNow(records: readonly OutgoingRecord[]): void {
    const { append, end } = this.#begin();
    append(records);
    end('committed');
  }

  async #commitWith(records: readonly OutgoingRecord[], behind: Behind): Promise<void> {
    const { append, end } = this.#begin();
    const abort = (): void => end('aborted');
    const letGo = this.#log.whenFenced(this.#transactionalId, abort);
    try {
      const more = await behind(append(records));
      this.#requireCurrent();
      append(more);
      end('committed');
    } catch (error) {
      abort();
      throw error;
    } finally {
      letGo();
    }
  }

  #begin() {
    const transaction: MemoryTransaction = { ...this.#session, outcome: 'open' };
    const touched = new Set<MemoryPartition>();
    return {
      append: (records: readonly OutgoingRecord[]): ReturnType<MemoryLog['append']> => {
        const written = this.#log.append(records, transaction);
        for (const { topic, partition } of written) {
          const log = this.#log.topic(topic)?.partitions[partition];
          if (log !== undefined) touched.add(log);
        }
        return written;
      },
      end: (outcome: 'committed' | 'aborted'): void => {
        if (transaction.outcome === 'open') this.#log.endTransaction(transaction, outcome, touched);
      },
    };
  }

  #requireCurrent(): void {
    if (this.#log.isCurrentSession(this.#transactionalId, this.#session)) return;
    throw fenced('PRODUCER_FENCED', `a newer session of ${this.#transactionalId} has fenced this one`);
  }
}

function fenced(code: string, message: string): TidemarkError {
  return new TidemarkError({ code, class: ErrorClass.fenced, message });
}
