/** A small log in memory whose right numbers are known, and audits of jobs over it. */
import type { Counters, LostOffsets, RangeCheckpoint } from '@tidemark/contracts';
import { createMemoryCursorStore, createMemorySchedule } from '@tidemark/cursors/testing';
import { deadLetterHeaders, JobPhase } from '@tidemark/jobs';
import { samplePin, sampleRequest, sampleState } from '@tidemark/jobs/testing';
import { NO_COUNTS, toOffset } from '@tidemark/keyspace';
import { createMemoryCluster, type MemoryCluster } from '@tidemark/log/testing';
import { auditJob, type JobAudit } from '../audit/audit-job.ts';
import type { AuditOptions } from '../audit/audit-ranges.ts';
import { scriptedJobLog } from './scripted-job-log.ts';

/** Offsets 0 to 9: five records, three of an aborted transaction and its marker, one more record; that at 3 has a dead letter. */
export const RIGHT: Partial<Counters> = { ok: 4n, skipped: 1n, deadLettered: 1n, markers: 4n };
const END = 9n;

export interface AuditedJob {
  readonly ranges?: readonly RangeCheckpoint[];
  readonly totals?: Counters;
  readonly lost?: readonly LostOffsets[];
  readonly phase?: JobPhase;
  readonly end?: bigint;
  readonly topicId?: string;
  readonly options?: AuditOptions;
}

export interface AuditedLog {
  readonly cluster: MemoryCluster;
  /** Of a job over `orders` that is completed, if not said otherwise, with these counters in its one range. */
  audited(counters: Partial<Counters>, given?: AuditedJob): Promise<JobAudit>;
  append(values: readonly string[], key?: string): Promise<void>;
  /** Removes what is below the offset. */
  cut(before: number): Promise<void>;
}

export async function createAuditedLog(): Promise<AuditedLog> {
  const cluster = createMemoryCluster({ now: () => 1_000n });
  const topicId = async (topic: string): Promise<string> => (await cluster.catalog.describe(topic))?.topicId ?? '';
  const log: AuditedLog = {
    cluster,
    async audited(counters, { ranges = [checkpointOf(counters)], ...given } = {}) {
      const state = sampleState({
        request: sampleRequest({ topic: 'orders' }),
        state: given.phase ?? JobPhase.completed,
        pin: { ...samplePin([[-1n, given.end ?? END]]), topicId: given.topicId ?? (await topicId('orders')) },
        totals: given.totals ?? null,
        lost: [...(given.lost ?? [])],
      });
      const parts = {
        cluster,
        store: createMemoryCursorStore({ now: () => 0 }),
        schedule: createMemorySchedule({ now: () => 0 }),
        jobLog: scriptedJobLog({ states: [state], checkpoints: ranges }),
      };
      const answer = await auditJob(parts, state, given.options);
      if (answer.kind !== 'audited') throw new Error(`no audit: ${answer.kind}`);
      return answer.audit;
    },
    async append(values, key) {
      const writer = await cluster.openWriter();
      await writer.append(values.map((value) => recordOf(value, key)));
      await writer.close();
    },
    async cut(before) {
      const source = { topic: 'orders', topicId: await topicId('orders'), partition: 0 };
      await cluster.catalog.deleteRecordsBefore(source, toOffset(before));
    },
  };
  cluster.createTopic('orders');
  cluster.createTopic('orders.dlq');
  await log.append(['0', '1', '2', '3', '4']);
  const aborted = cluster.begin();
  aborted.append(['5', '6', '7'].map((value) => recordOf(value)));
  aborted.abort();
  await log.append(['9']);
  await letter(cluster, 3n);
  return log;
}

export function messagesOf({ findings, ranges }: JobAudit): string {
  return [...findings, ...ranges.flatMap((range) => range.findings)].map(({ message }) => message).join('\n');
}

export function checkpointOf(counters: Partial<Counters>, fields: Partial<RangeCheckpoint> = {}): RangeCheckpoint {
  const cursor = fields.cursor ?? END;
  return {
    formatVersion: 1,
    jobId: 'job-1',
    partition: 0,
    start: -1n,
    cursor,
    horizon: cursor,
    status: 'done',
    note: '',
    token: '',
    lost: [],
    passed: [],
    parked: [],
    counters: { ...NO_COUNTS, ...counters },
    version: 1n,
    atMs: 0n,
    ...fields,
  };
}

async function letter(cluster: MemoryCluster, offset: bigint): Promise<void> {
  const writer = await cluster.openWriter();
  const origin = { topic: 'orders', partition: 0, offset };
  const headers = deadLetterHeaders({ headers: [], origin, fields: { job: 'job-1' }, error: 'bad' });
  await writer.append([{ ...recordOf('3'), topic: 'orders.dlq', headers }]);
  await writer.close();
}

function recordOf(value: string, key?: string) {
  return {
    topic: 'orders',
    partition: 0,
    key: key === undefined ? null : Buffer.from(key),
    value: Buffer.from(value),
  };
}
