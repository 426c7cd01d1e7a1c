/** On the log in memory: what the audit says of right numbers, of planted wrong ones, and of what is gone. */
import type { Counters, LostOffsets } from '@tidemark/contracts';
import { IDENTITY_TERMS, NO_COUNTS } from '@tidemark/keyspace';
import { beforeEach, expect, it } from 'vitest';
import { type AuditedLog, checkpointOf, createAuditedLog, messagesOf, RIGHT } from '../testing/audited-log.ts';

let log: AuditedLog;

beforeEach(async () => {
  log = await createAuditedLog();
});

it('P10: proves numbers that are what the log and the dead letters show', async () => {
  const audit = await log.audited(RIGHT);
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
  const audit = await log.audited({ ...RIGHT, ...wrong });
  expect(audit.verdict).toBe('broken');
  expect(messagesOf(audit)).toMatch(message);
});

/** Who was skipped nobody keeps: only the effects can tell (see audit-effects.test.ts). */
const INDISTINGUISHABLE = new Set(['ok to skipped', 'skipped to ok']);

const SHIFTS = IDENTITY_TERMS.flatMap((from) =>
  IDENTITY_TERMS.filter((to) => to !== from && (RIGHT[from] ?? 0n) > 0n).map((to) => ({ from, to })),
).filter(({ from, to }) => !INDISTINGUISHABLE.has(`${from} to ${to}`));

it.each(SHIFTS)('P10: finds one offset that is counted as $to instead of $from', async ({ from, to }) => {
  const wrong = { ...RIGHT, [from]: (RIGHT[from] ?? 0n) - 1n, [to]: (RIGHT[to] ?? 0n) + 1n };
  expect((await log.audited(wrong)).verdict).toBe('broken');
});

it('A5: proves a job whose window was empty, which has no ranges', async () => {
  expect(await log.audited({}, { ranges: [], end: -1n, totals: { ...NO_COUNTS } })).toMatchObject({
    verdict: 'proven',
    ranges: [],
    scanned: 0n,
    remaining: 0n,
  });
  await expect(log.audited({}, { ranges: [] })).rejects.toThrow('no ranges');
});

it('finds a state that says another sum than its ranges, and a hole between ranges', async () => {
  expect(messagesOf(await log.audited(RIGHT, { totals: { ...NO_COUNTS, ...RIGHT, ok: 5n } }))).toMatch(
    /state says ok 5, its ranges together 4/,
  );
  const later = await log.audited({}, { ranges: [checkpointOf({ ok: 2n, markers: 4n }, { start: 3n })] });
  expect(later.verdict).toBe('broken');
  expect(messagesOf(later)).toMatch(/partition 0/);
});

it('P10: finds a job that is completed before the end of its window, or with a record that is parked', async () => {
  const early = checkpointOf({ ok: 4n, deadLettered: 1n }, { cursor: 4n });
  const audit = await log.audited({}, { ranges: [early] });
  expect(audit).toMatchObject({ verdict: 'broken', remaining: 5n });
  expect(messagesOf(audit)).toMatch(/5 offsets of its window were not passed/);
  const parked = await log.audited({ ...RIGHT, ok: 3n, parked: 1n });
  expect(parked.verdict).toBe('broken');
  expect(messagesOf(parked)).toMatch(/1 of its records are parked/);
});

it('lets a letter pass whose record was settled otherwise after a crash', async () => {
  expect((await log.audited({ ...RIGHT, ok: 5n, deadLettered: 0n, maybeRedelivered: 1n })).verdict).toBe('proven');
});

it('B1: says what retention took, proves what is left, and finds a number that is too small for it', async () => {
  await log.cut(3);
  const audit = await log.audited(RIGHT);
  expect(audit.verdict).toBe('unprovable');
  expect(messagesOf(audit)).toMatch(/0 to 2 are not in the log any more/);
  expect((await log.audited({ ...RIGHT, ok: 1n, skipped: 0n, markers: 8n })).verdict).toBe('broken');
  expect((await log.audited({ ...RIGHT, ok: 1n, lost: 3n })).verdict).toBe('proven');
});

it('A4: says what compaction took since', async () => {
  log.cluster.deleteTopic('orders');
  log.cluster.createTopic('orders', { configs: { 'cleanup.policy': 'compact' } });
  await log.append(['0', '1', '2', '3', '4'], 'key');
  log.cluster.compact('orders', 0);
  const ranges = [checkpointOf({ ok: 4n, deadLettered: 1n }, { cursor: 4n })];
  const audit = await log.audited({}, { ranges, end: 4n });
  expect(audit.verdict).toBe('unprovable');
  expect(messagesOf(audit)).toMatch(/compacted away since: 4/);
});

it('A4: takes a parked record that was compacted away, and so counted as lost, for no contradiction', async () => {
  log.cluster.deleteTopic('orders');
  log.cluster.createTopic('orders', { configs: { 'cleanup.policy': 'compact' } });
  await log.append(['0', '1', '2', '3', '4'], 'key');
  log.cluster.compact('orders', 0, ({ offset }) => offset !== 2n);
  const audited = (lost: bigint, passed: readonly LostOffsets[] = []) =>
    log.audited(
      {},
      { ranges: [checkpointOf({ ok: 4n - lost, deadLettered: 1n, lost }, { cursor: 4n, passed })], end: 4n },
    );
  const audit = await audited(1n);
  expect([audit.verdict, messagesOf(audit)]).toEqual(['unprovable', 'offsets compacted away since: 1']);
  expect((await audited(2n)).verdict).toBe('broken');
  expect((await audited(1n, [{ partition: 0, first: 2n, last: 2n }])).verdict).toBe('proven');
  expect((await audited(1n, [{ partition: 0, first: 1n, last: 1n }])).verdict).toBe('broken');
});

it('B3: proves nothing of a topic that is another one now', async () => {
  log.cluster.recreateTopic('orders');
  const audit = await log.audited({ ok: 9n, deadLettered: 1n }, { topicId: 'former' });
  expect(audit.verdict).toBe('unprovable');
  expect(messagesOf(audit)).toMatch(/deleted and created again/);
});
