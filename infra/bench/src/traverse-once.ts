/** One traversal of a topic by one worker in this process, with its cursors in Redis. */
import { createCodec } from '@tidemark/contracts/registry';
import { createRedisCursorStore, createRedisSchedule } from '@tidemark/cursors/redis';
import { createCountHandler } from '@tidemark/handlers';
import { RangeStatus } from '@tidemark/keyspace';
import { createKafkaCluster } from '@tidemark/log/kafka';
import { waitFor } from '@tidemark/testkit/wait-for';
import { startWorker, type Worker } from '@tidemark/worker';
import { type InstalledJob, installJob } from '@tidemark/worker/testing';
import type { TraverserConfig } from './config.ts';
import { CLOSED_POLL_MS, TRAVERSE_CHUNK_RECORDS, TRAVERSE_PARTITIONS, TRAVERSE_TIMEOUT_MS } from './limits.ts';
import type { TraverserResult } from './measure.ts';
import { createSleepingHandler } from './sleeping-handler.ts';

export async function traverse(config: TraverserConfig, elapsedSeconds: () => number): Promise<TraverserResult> {
  const redis = { url: config.TIDEMARK_REDIS, namespace: `bench_${process.pid}` };
  const cluster = createKafkaCluster({ brokers: config.KAFKA_BOOTSTRAP, clientId: 'tidemark-bench' });
  const [store, schedule] = await Promise.all([
    createRedisCursorStore(redis),
    createRedisSchedule(redis),
    cluster.catalog.describe(config.BENCH_TOPIC), // connects meanwhile
  ]);
  const { handler, ordering, totals, calls } = workOf(config);
  const last = config.BENCH_RECORDS === undefined ? undefined : BigInt(config.BENCH_RECORDS / TRAVERSE_PARTITIONS - 1);
  const job = await installJob({
    catalog: cluster.catalog,
    store,
    schedule,
    topic: config.BENCH_TOPIC,
    handler: handler.name,
    ordering,
    chunkRecords: TRAVERSE_CHUNK_RECORDS,
    end: () => last,
  });
  const codec = createCodec({ registryUrl: config.TIDEMARK_REGISTRY });
  const worker = await startWorker({ cluster, codec, store, schedule, handlers: [handler] });
  const failed = worker.ended.then(() => Promise.reject(new Error('the worker ended by itself')));
  await Promise.race([allClosed(job, worker), failed]);
  const seconds = elapsedSeconds();
  const { user, system } = process.cpuUsage();
  failed.catch(() => undefined);
  const state = config.BENCH_STATE === '1' ? await stateOf(redis) : undefined;
  await worker.stop('measured');
  await Promise.all([store.remove({ jobId: job.jobId }), schedule.withdraw(job.jobId)]);
  await Promise.all([store.close(), schedule.close(), cluster.close()]);
  const { records, valueBytes } = totals();
  const called = calls?.();
  return {
    records,
    bytes: valueBytes,
    seconds,
    cpu_s: (user + system) / MICROSECONDS,
    ...(called === undefined ? {} : { calls: called }),
    ...(state === undefined ? {} : { state }),
  };
}

const MICROSECONDS = 1_000_000;

/** The store is asked only when no slot has work: the questions would be part of what is measured. */
function allClosed(job: InstalledJob, worker: Worker): Promise<true> {
  const look = async (): Promise<boolean> => {
    if (worker.state.slots.some(({ work }) => work !== undefined)) return false;
    const ranges = await job.ranges();
    return ranges.length > 0 && ranges.every(({ status }) => status !== RangeStatus.open);
  };
  return waitFor('no open range', look, { timeoutMs: TRAVERSE_TIMEOUT_MS, intervalMs: CLOSED_POLL_MS });
}

function workOf({ BENCH_WORK }: TraverserConfig) {
  if (BENCH_WORK === 'blocking') return { ...createSleepingHandler(), ordering: 'key' } as const;
  return { ...createCountHandler(), calls: undefined, ordering: 'none' } as const;
}

async function stateOf(redis: { readonly url: string; readonly namespace: string }) {
  const { redisStateOf } = await import('./redis-state.ts');
  return await redisStateOf(redis.url, redis.namespace);
}
