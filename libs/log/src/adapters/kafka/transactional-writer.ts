/** One producer session of a transactional id. */

import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { Kafka, Producer, RecordMetadata, Transaction } from 'kafkajs';
import { TRANSACTION_TIMEOUT_MS } from '../../limits.ts';
import { planRequests } from '../../outgoing.ts';
import type { Behind, OutgoingRecord, TransactionalWriter } from '../../ports.ts';
import { toProducerBatch } from './kafkajs-produce.ts';
import { noPartitioner, requireOneAnswerEach, toAppended } from './messages.ts';
import { producerError } from './producer-errors.ts';
import type { RecordPlacer } from './record-placer.ts';
import { retryPolicy } from './retry-policy.ts';

const State = { idle: 'idle', committing: 'committing', dead: 'dead' } as const;
type State = (typeof State)[keyof typeof State];

export class KafkaTransactionalWriter implements TransactionalWriter {
  readonly #producer: Producer;
  readonly #placer: RecordPlacer;
  readonly #transactionalId: string;
  #state: State = State.idle;

  constructor(options: {
    readonly producer: Producer;
    readonly placer: RecordPlacer;
    readonly transactionalId: string;
  }) {
    this.#producer = options.producer;
    this.#placer = options.placer;
    this.#transactionalId = options.transactionalId;
  }

  get usable(): boolean {
    return this.#state !== State.dead;
  }

  async commit(records: readonly OutgoingRecord[], behind?: Behind): Promise<void> {
    if (this.#state !== State.idle) throw this.#misuse();
    if (records.length === 0) return;
    this.#state = State.committing;
    try {
      const requests = planRequests(await this.#placer.place(records));
      const transaction = await this.#producer.transaction();
      const answered = await send(transaction, requests);
      if (behind !== undefined) {
        const written = answered.flatMap(({ request, answers }) => toAppended(request, answers));
        // The client is sound: readers need not wait until the transaction runs out of time.
        const more = await orAbort(transaction, async () => this.#placer.place(await behind(written)));
        await send(transaction, planRequests(more));
      }
      await transaction.commit();
      this.#state = State.idle;
    } catch (error) {
      // A failed send, commit or abort leaves this client in a state it never leaves; nothing of it is used again. Its
      // open transaction ends when the next session of the id fences it, or by its timeout.
      this.#state = State.dead;
      this.#placer.forget(records.map(({ topic }) => topic));
      void this.#producer.disconnect().catch(() => undefined);
      throw producerError(error, `committing as ${this.#transactionalId}`);
    }
  }

  async close(): Promise<void> {
    this.#state = State.dead;
    await this.#producer.disconnect().catch(() => undefined);
  }

  #misuse(): TidemarkError {
    const dead = this.#state === State.dead;
    const message = `${this.#transactionalId}: ${dead ? 'this session has ended; open a new one' : 'commits of one session must not overlap'}`;
    return new TidemarkError({
      code: dead ? 'SESSION_ENDED' : 'COMMITS_OVERLAP',
      class: dead ? ErrorClass.fenced : ErrorClass.bug,
      message,
    });
  }
}

type Requests = ReturnType<typeof planRequests>;

interface Answered {
  readonly request: Requests[number];
  readonly answers: readonly RecordMetadata[];
}

/** In the order of the records. Where each of them ended up is worked out for those alone who ask. */
async function send(transaction: Transaction, requests: Requests): Promise<readonly Answered[]> {
  const answered: Answered[] = [];
  for (const request of requests) {
    const answers = await transaction.sendBatch(toProducerBatch(request));
    requireOneAnswerEach(request, answers);
    answered.push({ request, answers });
  }
  return answered;
}

async function orAbort<T>(transaction: Transaction, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await transaction.abort().catch(() => undefined);
    throw error;
  }
}

export interface TransactionalOptions {
  readonly transactionalId: string;
}

/**
 * The client asks for its producer id (which is what fences older sessions, and ends their open transaction) only when
 * its first transaction begins. So one begins here and is dropped: with nothing sent, it is not even a request.
 */
export async function openTransactionalWriter(
  kafka: Kafka,
  placer: RecordPlacer,
  options: TransactionalOptions,
): Promise<KafkaTransactionalWriter> {
  const { transactionalId } = options;
  const producer = kafka.producer({
    transactionalId,
    transactionTimeout: TRANSACTION_TIMEOUT_MS,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
    createPartitioner: noPartitioner,
    retry: retryPolicy,
  });
  try {
    await producer.connect();
    await (await producer.transaction()).abort();
  } catch (error) {
    await producer.disconnect().catch(() => undefined);
    throw producerError(error, `opening a session of ${transactionalId}`);
  }
  return new KafkaTransactionalWriter({ producer, placer, transactionalId });
}
