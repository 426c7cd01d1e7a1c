/** Idempotent appends. */
import type { Kafka, Producer } from 'kafkajs';
import { planRequests } from '../../outgoing.ts';
import type { AppendedRecord, LogWriter, OutgoingRecord } from '../../ports.ts';
import { toProducerBatch } from './kafkajs-produce.ts';
import { noPartitioner, toAppended } from './messages.ts';
import { producerError } from './producer-errors.ts';
import type { RecordPlacer } from './record-placer.ts';
import { retryPolicy } from './retry-policy.ts';

export class KafkaWriter implements LogWriter {
  readonly #kafka: Kafka;
  readonly #placer: RecordPlacer;
  #producer: Producer | undefined;
  /** Appends run one after another: the sequence numbers of the producer allow no other order after an error. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(kafka: Kafka, placer: RecordPlacer) {
    this.#kafka = kafka;
    this.#placer = placer;
  }

  async open(): Promise<this> {
    await this.#connected();
    return this;
  }

  append(records: readonly OutgoingRecord[]): Promise<readonly AppendedRecord[]> {
    const mine = this.#turn.then(() => this.#append(records));
    this.#turn = mine.catch(() => undefined);
    return mine;
  }

  async close(): Promise<void> {
    await this.#turn;
    await this.#discard();
  }

  async #append(records: readonly OutgoingRecord[]): Promise<readonly AppendedRecord[]> {
    const placed = await this.#placer.place(records);
    const appended: AppendedRecord[] = [];
    for (const request of planRequests(placed)) {
      const producer = await this.#connected();
      try {
        appended.push(...toAppended(request, await producer.sendBatch(toProducerBatch(request))));
      } catch (error) {
        // One failed partition makes the client forget that the others of the request took their sequence numbers. The
        // next batch would reuse them, and the broker would take it for a repetition and drop it in silence.
        await this.#discard();
        this.#placer.forget(request.map(({ record }) => record.topic));
        throw producerError(
          error,
          `appending to ${[...new Set(request.map(({ record }) => record.topic))].join(', ')}`,
        );
      }
    }
    return appended;
  }

  async #connected(): Promise<Producer> {
    if (this.#producer !== undefined) return this.#producer;
    const producer = this.#kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner: noPartitioner,
      retry: retryPolicy,
    });
    try {
      await producer.connect();
    } catch (error) {
      await producer.disconnect().catch(() => undefined);
      throw producerError(error, 'connecting a producer');
    }
    this.#producer = producer;
    return producer;
  }

  async #discard(): Promise<void> {
    const producer = this.#producer;
    this.#producer = undefined;
    await producer?.disconnect().catch(() => undefined);
  }
}
