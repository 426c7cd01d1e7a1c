/** One audit of a job that is over and has counted every record of the topic. */
import type { JobState, RangeCheckpoint } from '@tidemark/contracts';
import { auditJob } from '@tidemark/control';
import { createMemoryCursorStore, createMemorySchedule } from '@tidemark/cursors/testing';
import { JobPhase } from '@tidemark/jobs';
import { samplePin, sampleRequest, sampleState } from '@tidemark/jobs/testing';
import { NO_COUNTS, RangeStatus } from '@tidemark/keyspace';
import { createKafkaCluster } from '@tidemark/log/kafka';
import type { TraverserConfig } from './config.ts';
import type { TraverserResult } from './measure.ts';

export async function auditTopic(config: TraverserConfig, elapsedMs: () => number): Promise<TraverserResult> {
  const cluster = createKafkaCluster({ brokers: config.KAFKA_BOOTSTRAP, clientId: 'tidemark-bench' });
  const topic = await cluster.catalog.describe(config.BENCH_TOPIC);
  if (topic === undefined) throw new Error(`no topic ${config.BENCH_TOPIC}`);
  const offsets = await cluster.catalog.offsets(topic);
  const windows = offsets.map(({ highWatermark }) => [-1n, highWatermark - 1n] as const);
  const state: JobState = sampleState({
    request: sampleRequest({ topic: topic.topic }),
    state: JobPhase.completed,
    pin: { ...samplePin(windows), topicId: topic.topicId },
  });
  // The store forgets a job that is over, and its checkpoints are a few records of Kafka.
  const jobLog = { checkpoints: async () => windows.map(([start, end], partition) => done(partition, start, end)) };
  const nothing = { now: () => 0 };
  const answer = await auditJob(
    { cluster, jobLog, store: createMemoryCursorStore(nothing), schedule: createMemorySchedule(nothing) },
    state,
  );
  const seconds = elapsedMs() / 1_000;
  const { user, system } = process.cpuUsage();
  if (answer.kind !== 'audited' || answer.audit.verdict !== 'proven')
    throw new Error(`the audit is wrong: ${answer.kind}`);
  const records = answer.audit.ranges.reduce((sum, { scan }) => sum + Number(scan.records), 0);
  return { records, bytes: 0, seconds, cpu_s: (user + system) / 1_000_000 };
}

function done(partition: number, start: bigint, end: bigint): RangeCheckpoint {
  return {
    formatVersion: 1,
    jobId: 'job-1',
    partition,
    start,
    cursor: end,
    horizon: end,
    status: RangeStatus.done,
    note: '',
    counters: { ...NO_COUNTS, ok: end - start },
    lost: [],
    passed: [],
    parked: [],
    token: '',
    version: 1n,
    atMs: 0n,
  };
}
