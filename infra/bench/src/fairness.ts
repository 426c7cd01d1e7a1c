/** `fairness`: one large job and many small ones on one worker, told in chunks and not in time. */
import { createCodec } from '@tidemark/contracts/registry';
import { createRedisCursorStore, createRedisSchedule } from '@tidemark/cursors/redis';
import { defineHandler, done } from '@tidemark/handlers';
import { createKafkaCluster } from '@tidemark/log/kafka';
import { startWorker } from '@tidemark/worker';
import { type InstalledJob, installJob } from '@tidemark/worker/testing';
import {
  FAIRNESS_CHUNK_RECORDS,
  FAIRNESS_SMALL_JOBS,
  FAIRNESS_SMALL_RECORDS,
  TRAVERSE_RECORDS,
  TRAVERSE_TIMEOUT_MS,
} from './limits.ts';
import type { RunOptions } from './own-runs.ts';
import { ensureTraverseTopic, TRAVERSE_TOPIC } from './topic.ts';

export interface FairnessReport {
  readonly work: 'fairness';
  readonly big_records: number;
  readonly small_jobs: number;
  readonly small_chunks: number;
  /** Chunks of the large job between the first and the last chunk of a small one. */
  readonly big_chunks_meanwhile: number;
  /** The most of them in a row while a small job was open. */
  readonly big_chunks_in_a_row: number;
  readonly big_chunks: number;
}

export async function runFairness(options: RunOptions): Promise<FairnessReport> {
  const brokers = options.kafka.split(',');
  await ensureTraverseTopic(brokers, options.progress);
  const redis = { url: options.redis, namespace: `bench_${process.pid}` };
  const cluster = createKafkaCluster({ brokers, clientId: 'tidemark-bench' });
  const [store, schedule] = await Promise.all([createRedisCursorStore(redis), createRedisSchedule(redis)]);
  const chunks: string[] = [];
  const handler = defineHandler({
    name: 'noting',
    input: 'raw',
    idempotent: true,
    handleBatch(_events, { jobId }) {
      chunks.push(jobId);
      return done();
    },
  });
  const common = { catalog: cluster.catalog, store, schedule, topic: TRAVERSE_TOPIC, handler: handler.name };
  const install = (jobId: string, start?: number): Promise<InstalledJob> =>
    installJob({
      ...common,
      jobId,
      chunkRecords: FAIRNESS_CHUNK_RECORDS,
      ...(start === undefined ? {} : onlyOfFirst(start)),
    });
  const jobs = [await install('big')];
  for (let n = 0; n < FAIRNESS_SMALL_JOBS; n++) jobs.push(await install(`small-${n}`, n * FAIRNESS_SMALL_RECORDS));
  const codec = createCodec({ registryUrl: options.registry });
  const worker = await startWorker({ cluster, codec, store, schedule, handlers: [handler] });
  // What a distributor does with a job that has ended.
  const end = async (job: InstalledJob): Promise<void> => {
    await job.closed(TRAVERSE_TIMEOUT_MS);
    await schedule.withdraw(job.jobId);
    await store.remove({ jobId: job.jobId });
  };
  await Promise.all(jobs.map(end));
  await worker.stop('measured');
  await Promise.all([store.close(), schedule.close(), cluster.close()]);
  return reportOf(chunks);
}

/** A window of partition 0; the others are empty. */
function onlyOfFirst(start: number) {
  const cursor = BigInt(start - 1);
  const bound = (last: bigint) => (partition: number) => (partition === 0 ? last : -1n);
  return { start: bound(cursor), end: bound(cursor + BigInt(FAIRNESS_SMALL_RECORDS)) };
}

/** From the job of each chunk, in the order in which they were handled. */
export function reportOf(chunks: readonly string[]): FairnessReport {
  const isSmall = chunks.map((jobId) => jobId !== 'big');
  const first = isSmall.indexOf(true);
  const meanwhile = isSmall.slice(first, isSmall.lastIndexOf(true) + 1);
  let row = 0;
  let longest = 0;
  for (const small of meanwhile) {
    row = small ? 0 : row + 1;
    longest = Math.max(longest, row);
  }
  const smallChunks = isSmall.filter(Boolean).length;
  return {
    work: 'fairness',
    big_records: TRAVERSE_RECORDS,
    small_jobs: FAIRNESS_SMALL_JOBS,
    small_chunks: smallChunks,
    big_chunks_meanwhile: meanwhile.length - smallChunks,
    big_chunks_in_a_row: longest,
    big_chunks: chunks.length - smallChunks,
  };
}
