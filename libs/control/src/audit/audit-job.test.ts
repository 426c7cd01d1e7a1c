/** On the log in memory: what the audit says of right numbers, of planted wrong ones, and of what is gone. */
import type { Counters, RangeCheckpoint } from '@tidemark/contracts';
import { createMemoryCursorStore, createMemorySchedule } from '@tidemark/cursors/testing';
import { deadLetterHeaders, JobPhase } from '@tidemark/jobs';
import { samplePin, sampleRequest, sampleState } from '@tidemark/jobs/testing';
import { NO_COUNTS, toOffset } from '@tidemark/keyspace';
import { createMemoryCluster, type MemoryCluster } from '@tidemark/log/testing';
import { beforeEach, expect, it } from 'vitest';
import { scriptedJobLog } from '../testing/scripted-job-log.ts';
import { type AuditOptions, auditJob, type JobAudit } from './audit-job.ts';
import type { Effect } from './effects.ts';

/** Offsets 0 to 9: five records, three of an aborted transaction and its marker, one more record. */
const RIGHT: Partial<Counters> = { ok: 4n, skipped: 1n, deadLettered: 1n, markers: 4n };
const END = 9n;

let cluster: MemoryCluster;

beforeEach(async () => {
  cluster = createMemoryCluster({ now: () => 1_000n });
  cluster.createTopic('orders');
  cluster.createTopic('orders.dlq');
  await append(['0', '1', '2', '3', '4']);
  const aborted = cluster.begin();
  aborted.append(['5', '6', '7'].map((value) => recordOf(value)));
  aborted.abort();
  await append(['9']);
  await letter(3n);
});

it('P10: proves numbers that are what the log and the dead letters show', async () => {
  const audit = await audited(RIGHT);
  expect(audit).toMatchObject({ verdict: 'proven', findings: [], scanned: 10n, remaining: 0n });
  expect(audit.ranges).toMatchObject([{ scan: { records: 6n, filtered: 0n, markers: 4n, compacted: 0n, gone: [] } }]);
});

it.each<[string, Partial<Counters>, RegExp]>([
  ['too few offsets', { ok: 3n }, /10 offsets, but .* = 9/],
  ['a record taken for a marker', { ok: 3n, markers: 5n }, /records counted: 5; shown by the log: 6/],
  ['a record taken for a loss', { ok: 3n, lost: 1n }, /counted as lost: 1; lacking in the log: 0/],
  ['a dead letter that is not there', { ok: 3n, deadLettered: 2n }, /dead letters counted: 2; .*: 1/],
  ['a dead letter that was not counted', { ok: 5n, deadLettered: 0n }, /dead letters counted: 0; .*: 1/],
  [
    'one filtered without a window of time',
    { ok: 3n, filtered: 1n },
    /filtered records counted: 1; shown by the log: 0/,
  ],
])('P10: finds %s', async (_, wrong, message) => {
  const audit = await audited({ ...RIGHT, ...wrong });
  expect(audit.verdict).toBe('broken');
  expect(messagesOf(audit)).toMatch(message);
});

it('finds a state that says another sum than its ranges, and a hole between ranges', async () => {
  expect(messagesOf(await audited(RIGHT, { totals: { ...NO_COUNTS, ...RIGHT, ok: 5n } }))).toMatch(
    /state says ok 5, its ranges together 4/,
  );
  const later = await audited({}, { ranges: [checkpointOf({ ok: 2n, markers: 4n }, { start: 3n })] });
  expect(later.verdict).toBe('broken');
  expect(messagesOf(later)).toMatch(/partition 0/);
});

it('P10: finds a job that is completed before the end of its window, or with a record that is parked', async () => {
  const early = { ...checkpointOf({ ok: 4n, deadLettered: 1n }), cursor: 4n, horizon: 4n };
  const audit = await audited({}, { ranges: [early] });
  expect(audit).toMatchObject({ verdict: 'broken', remaining: 5n });
  expect(messagesOf(audit)).toMatch(/5 offsets of its window were not passed/);
  const parked = await audited({ ...RIGHT, ok: 3n, parked: 1n });
  expect(parked.verdict).toBe('broken');
  expect(messagesOf(parked)).toMatch(/1 of its records are parked/);
});

it('lets a letter pass whose record was settled otherwise after a crash', async () => {
  expect((await audited({ ...RIGHT, ok: 5n, deadLettered: 0n, maybeRedelivered: 1n })).verdict).toBe('proven');
});

it('B1: says what retention took, proves what is left, and finds a number that is too small for it', async () => {
  const topicId = (await cluster.catalog.describe('orders'))?.topicId ?? '';
  await cluster.catalog.deleteRecordsBefore({ topic: 'orders', topicId, partition: 0 }, toOffset(3));
  const audit = await audited(RIGHT);
  expect(audit.verdict).toBe('unprovable');
  expect(messagesOf(audit)).toMatch(/0 to 2 are not in the log any more/);
  expect((await audited({ ...RIGHT, ok: 1n, skipped: 0n, markers: 8n })).verdict).toBe('broken');
  expect((await audited({ ...RIGHT, ok: 1n, lost: 3n })).verdict).toBe('proven');
});

it('A4: says what compaction took since', async () => {
  cluster.deleteTopic('orders');
  cluster.createTopic('orders', { configs: { 'cleanup.policy': 'compact' } });
  await append(['0', '1', '2', '3', '4'], 'key');
  cluster.compact('orders', 0);
  const ranges = [checkpointOf({ ok: 4n, deadLettered: 1n }, { end: 4n })];
  const audit = await audited({}, { ranges, end: 4n });
  expect(audit.verdict).toBe('unprovable');
  expect(messagesOf(audit)).toMatch(/compacted away since: 4/);
});

it('B3: proves nothing of a topic that is another one now', async () => {
  cluster.recreateTopic('orders');
  const audit = await audited({ ok: 9n, deadLettered: 1n }, { topicId: 'former' });
  expect(audit.verdict).toBe('unprovable');
  expect(messagesOf(audit)).toMatch(/deleted and created again/);
});

it('compares the sink: right, with a planted loss, and with a planted duplicate', async () => {
  const sink = (...offsets: readonly bigint[]): Effect[] =>
    [...Map.groupBy(offsets, (offset) => offset)].map(([offset, all]) => ({
      partition: 0,
      offset,
      count: BigInt(all.length),
    }));
  const withSink = (effects: readonly Effect[]) => audited(RIGHT, { options: { effects: asyncOf(effects) } });
  const right = await withSink(sink(0n, 1n, 2n, 9n, 12n));
  expect(right.verdict).toBe('proven');
  expect(right.ranges).toMatchObject([{ effects: { found: 4n, repeated: 0n, missing: 1n } }]);
  expect(messagesOf(await withSink(sink(0n, 2n, 9n)))).toMatch(/without an effect in the sink: 2; skipped: 1/);
  expect(messagesOf(await withSink(sink(0n, 1n, 2n, 9n, 9n)))).toMatch(/beyond the first of their record: 1; .*: 0/);
});

async function audited(
  counters: Partial<Counters>,
  given: {
    readonly ranges?: readonly RangeCheckpoint[];
    readonly totals?: Counters;
    readonly end?: bigint;
    readonly topicId?: string;
    readonly options?: AuditOptions;
  } = {},
): Promise<JobAudit> {
  const { ranges = [checkpointOf(counters)], totals = null, end = END, options } = given;
  const topicId = given.topicId ?? (await cluster.catalog.describe('orders'))?.topicId ?? '';
  const state = sampleState({
    request: sampleRequest({ topic: 'orders' }),
    state: JobPhase.completed,
    pin: { ...samplePin([[-1n, end]]), topicId },
    totals,
  });
  const answer = await auditJob(
    {
      cluster,
      store: createMemoryCursorStore({ now: () => 0 }),
      schedule: createMemorySchedule({ now: () => 0 }),
      jobLog: scriptedJobLog({ states: [state], checkpoints: ranges }),
    },
    state,
    options,
  );
  if (answer.kind !== 'audited') throw new Error(`no audit: ${answer.kind}`);
  return answer.audit;
}

function messagesOf({ findings, ranges }: JobAudit): string {
  return [...findings, ...ranges.flatMap((range) => range.findings)].map(({ message }) => message).join('\n');
}

function checkpointOf(
  counters: Partial<Counters>,
  { start = -1n, end = END }: { readonly start?: bigint; readonly end?: bigint } = {},
): RangeCheckpoint {
  return {
    formatVersion: 1,
    jobId: 'job-1',
    partition: 0,
    start,
    cursor: end,
    horizon: end,
    status: 'done',
    note: '',
    token: '',
    lost: [],
    parked: [],
    counters: { ...NO_COUNTS, ...counters },
    version: 1n,
    atMs: 0n,
  } as RangeCheckpoint;
}

function recordOf(value: string, key: string | null = null) {
  return { topic: 'orders', partition: 0, key: key === null ? null : Buffer.from(key), value: Buffer.from(value) };
}

async function append(values: readonly string[], key: string | null = null): Promise<void> {
  const writer = await cluster.openWriter();
  await writer.append(values.map((value) => recordOf(value, key)));
  await writer.close();
}

async function letter(offset: bigint): Promise<void> {
  const writer = await cluster.openWriter();
  const origin = { topic: 'orders', partition: 0, offset };
  const headers = deadLetterHeaders({ headers: [], origin, fields: { job: 'job-1' }, error: 'bad' });
  await writer.append([{ ...recordOf('3'), topic: 'orders.dlq', headers }]);
  await writer.close();
}

async function* asyncOf(effects: readonly Effect[]): AsyncGenerator<Effect> {
  for (const effect of effects) yield await Promise.resolve(effect);
}
