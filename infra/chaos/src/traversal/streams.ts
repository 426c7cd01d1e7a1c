/**
 * The topics that are filled all the time, and what the broker has acknowledged of it: the truth that the judge counts
 * against. It is written while the broker is up only, so that no append has an unknown outcome.
 */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { kafkaClient } from '@tidemark/testkit';
import type { Producer } from 'kafkajs';
import type { Pool } from 'pg';
import { FILL_EVERY_MS, KEYS_PER_PARTITION, LARGE_BATCH, LARGE_TEXT_BYTES, TEXT_BYTES } from './limits.ts';

export interface Appended {
  readonly first: bigint;
  readonly last: bigint;
}

export interface Streams {
  /** Next offset of every partition, as acknowledged. */
  acknowledged(topic: string): ReadonlyMap<number, bigint>;
  /** In several batches of large records, so that a reader does not have all of them in its first answer. */
  appendLarge(topic: string, partition: number, count: number): Promise<Appended>;
  /** Resolves to the number of the new partition. It is filled from then on. */
  addPartition(topic: string): Promise<number>;
  /** Resolves when nothing is on its way. */
  pause(): Promise<void>;
  resume(): void;
  stop(): Promise<void>;
  /** Rejects when filling fails, which is a fault of the run and not of what it is about. */
  readonly failed: Promise<never>;
}

export async function startStreams(options: {
  readonly kafka: string;
  readonly pool: Pool;
  /** Filled all the time, with so many partitions. */
  readonly filled: ReadonlyMap<string, number>;
  /** Records a second, over all of them. */
  readonly fillPerSecond: number;
}): Promise<Streams> {
  const { kafka, pool } = options;
  const places = new Map([...options.filled].map(([topic, count]) => [topic, startOf(count)]));
  let producer = await connect(kafka);
  let serial = 0;
  let isStopped = false;
  /** Everything that writes waits for the one before, so a pause is the last in the queue. */
  let queue: Promise<unknown> = Promise.resolve();
  let open: (() => void) | undefined;

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = queue.then(work);
    queue = turn.catch(() => undefined);
    return turn;
  };

  const appendNow = async (topic: string, partition: number, count: number, textBytes: number): Promise<Appended> => {
    const records = Array.from({ length: count }, () => recordOf(partition, serial++, textBytes));
    const [answer] = await producer.send({
      topic,
      messages: records.map(({ key, value }) => ({ partition, key, value })),
    });
    const first = BigInt(answer?.baseOffset ?? '-1');
    if (first < 0n) throw new Error(`the broker gave no offset for ${topic}/${partition}`);
    await pool.query(
      `insert into produced select $1, $2, $3::bigint + n - 1, k, d
         from unnest($4::text[], $5::text[]) with ordinality as given(k, d, n)`,
      [topic, partition, first, records.map(({ key }) => key), records.map(({ digest }) => digest)],
    );
    const offsets = places.get(topic) ?? new Map<number, bigint>();
    places.set(topic, offsets.set(partition, first + BigInt(count)));
    return { first, last: first + BigInt(count) - 1n };
  };

  const fill = async (): Promise<void> => {
    while (!isStopped) {
      await delay(FILL_EVERY_MS);
      const targets = [...options.filled.keys()].flatMap((topic) =>
        [...(places.get(topic) ?? new Map<number, bigint>()).keys()].map((partition) => ({ topic, partition })),
      );
      const count = Math.ceil((options.fillPerSecond * FILL_EVERY_MS) / 1_000 / targets.length);
      await inTurn(async () => {
        for (const { topic, partition } of targets) await appendNow(topic, partition, count, TEXT_BYTES);
      });
    }
  };

  const filling = fill();
  return {
    failed: filling.then(() => new Promise<never>(() => undefined)),
    acknowledged: (topic) => places.get(topic) ?? new Map(),
    appendLarge: (topic, partition, count) =>
      inTurn(async () => {
        const parts: Appended[] = [];
        for (let done = 0; done < count; done += LARGE_BATCH)
          parts.push(await appendNow(topic, partition, Math.min(LARGE_BATCH, count - done), LARGE_TEXT_BYTES));
        return { first: parts[0]?.first ?? 0n, last: parts.at(-1)?.last ?? -1n };
      }),
    addPartition: (topic) =>
      inTurn(async () => {
        const offsets = places.get(topic) ?? startOf(0);
        const partition = offsets.size;
        await createPartitions(kafka, topic, partition + 1);
        // A producer learns of new partitions after minutes, a new one at once.
        await producer.disconnect();
        producer = await connect(kafka);
        places.set(topic, offsets.set(partition, 0n));
        return partition;
      }),
    pause: () =>
      new Promise((isPaused) => {
        void inTurn(() => {
          isPaused();
          return new Promise<void>((resume) => {
            open = resume;
          });
        });
      }),
    resume: () => open?.(),
    async stop() {
      isStopped = true;
      open?.();
      await filling.catch(() => undefined);
      await producer.disconnect();
    },
  };
}

function startOf(partitions: number): Map<number, bigint> {
  return new Map(Array.from({ length: partitions }, (_, partition) => [partition, 0n]));
}

async function connect(kafka: string): Promise<Producer> {
  const producer = kafkaClient({ kafka }).producer({ idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  return producer;
}

async function createPartitions(kafka: string, topic: string, count: number): Promise<void> {
  const admin = kafkaClient({ kafka }).admin();
  await admin.connect();
  try {
    await admin.createPartitions({ topicPartitions: [{ topic, count }] });
  } finally {
    await admin.disconnect();
  }
}

function recordOf(partition: number, serial: number, textBytes: number) {
  const value = JSON.stringify({ serial, text: 'x'.repeat(textBytes) });
  return {
    key: `${partition}-${serial % KEYS_PER_PARTITION}`,
    value,
    digest: createHash('md5').update(value).digest('hex'),
  };
}
