/** `relay`: how fast a backlog of one-row transactions leaves the outbox, with the relay as a process of its own. */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { headerText, type LogCluster, scanTopic, type TopicDescription } from '@tidemark/log';
import { createKafkaCluster } from '@tidemark/log/kafka';
import { openTestOutbox, type TestOutbox } from '@tidemark/outbox/testing';
import {
  createTopic,
  deleteTopic,
  environmentOf,
  spawnProgram,
  uniqueName,
  uniqueNamespace,
  waitFor,
} from '@tidemark/testkit';
import { RELAY_KEYS, RELAY_PARTITIONS, RELAY_POLL_MS, RELAY_TIMEOUT_MS, RELAY_VALUE_BYTES } from './limits.ts';
import type { Progress } from './topic.ts';

export interface RelayBenchOptions {
  readonly kafka: string;
  readonly postgres: string;
  readonly rows: number;
  readonly progress: Progress;
}

export interface RelayReport {
  readonly work: 'relay';
  readonly rows: number;
  /** From the first to the last append, by the broker's clock. */
  readonly backlog_per_s: number;
  /** Rows found in the topic, each counted once: less than `rows` is a loss. */
  readonly distinct: number;
}

export async function runRelay({ kafka, postgres, rows, progress }: RelayBenchOptions): Promise<RelayReport> {
  const namespace = uniqueNamespace('bench');
  const topic = uniqueName('bench-relay');
  const outbox = await openTestOutbox({ url: postgres, namespace });
  const cluster = createKafkaCluster({ brokers: [kafka], clientId: 'tidemark-bench-relay' });
  try {
    await createTopic(topic, {
      kafka,
      partitions: RELAY_PARTITIONS,
      configs: { 'message.timestamp.type': 'LogAppendTime' },
    });
    progress(`filling the outbox: ${rows} transactions of one row`);
    await fill(outbox, { topic, rows });
    progress('starting the relay');
    const env = { ...environmentOf(namespace, { kafka, postgres }), TIDEMARK_LOG_LEVEL: 'warn' };
    const relay = spawnProgram({ script: 'services/relay/src/main.ts', env });
    try {
      return { work: 'relay', rows, ...(await measure(cluster, { topic, rows })) };
    } finally {
      await relay.kill('SIGTERM');
    }
  } finally {
    await outbox.drop();
    await cluster.close();
    await deleteTopic(topic, { kafka });
  }
}

/** Each row in a transaction of its own, as applications write them; only the waiting for the disk is left out. */
async function fill(
  outbox: TestOutbox,
  { topic, rows }: { readonly topic: string; readonly rows: number },
): Promise<void> {
  await outbox.client.query('set synchronous_commit = off');
  await outbox.client.query(`do $$ begin
    for i in 0 .. ${rows - 1} loop
      insert into ${outbox.schema}.outbox (topic, key, type, payload) values
        ('${topic}', 'key-' || i % ${RELAY_KEYS}, 'x', jsonb_build_object('n', i, 'pad', repeat('x', ${RELAY_VALUE_BYTES})));
      commit;
    end loop;
  end $$`);
}

async function measure(
  cluster: LogCluster,
  { topic, rows }: { readonly topic: string; readonly rows: number },
): Promise<Pick<RelayReport, 'backlog_per_s' | 'distinct'>> {
  const description = await cluster.catalog.describe(topic);
  if (description === undefined)
    throw new TidemarkError({ code: 'TOPIC_GONE', class: ErrorClass.lost, message: `topic ${topic} is gone` });
  // Transaction markers have offsets, too: the records are there when so many of them were read.
  let found = await readBack(cluster, description);
  await waitFor(
    `${rows} records`,
    async () => {
      const ends = await cluster.catalog.offsets(description);
      if (ends.reduce((sum, { lastStableOffset }) => sum + lastStableOffset, 0n) < BigInt(rows)) return false;
      found = await readBack(cluster, description);
      return found.records >= rows;
    },
    { timeoutMs: RELAY_TIMEOUT_MS, intervalMs: RELAY_POLL_MS },
  );
  return {
    backlog_per_s: Math.round(found.records / (Math.max(1, found.spanMs) / 1_000)),
    distinct: found.positions.size,
  };
}

async function readBack(cluster: LogCluster, topic: TopicDescription) {
  const positions = new Set<string>();
  let records = 0;
  let firstMs = Number.POSITIVE_INFINITY;
  let lastMs = 0;
  await scanTopic({
    cluster,
    topic,
    visit(record) {
      records += 1;
      firstMs = Math.min(firstMs, Number(record.timestampMs));
      lastMs = Math.max(lastMs, Number(record.timestampMs));
      positions.add(headerText(record, 'tm_position') ?? '');
    },
  });
  return { records, positions, spanMs: lastMs - firstMs };
}
