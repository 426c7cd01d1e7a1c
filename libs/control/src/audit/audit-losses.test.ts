/** What an audit makes of records that somebody removed under a job, by whether the job passed them or stopped at them. */
import type { Counters, LostOffsets } from '@tidemark/contracts';
import { JobPhase } from '@tidemark/jobs';
import { NO_COUNTS } from '@tidemark/keyspace';
import { beforeEach, describe, expect, it } from 'vitest';
import { type AuditedLog, checkpointOf, createAuditedLog, messagesOf } from '../testing/audited-log.ts';

let log: AuditedLog;

beforeEach(async () => {
  log = await createAuditedLog();
  await log.cut(3);
});

describe('B1: a job that passes losses (--on-lost skip)', () => {
  const rest = { ok: 1n, skipped: 1n, deadLettered: 1n, markers: 4n };
  const passing = (counters: Partial<Counters>, ...passed: readonly (readonly [bigint, bigint])[]) => ({
    ranges: [checkpointOf(counters, { passed: passed.map(([first, last]) => ({ partition: 0, first, last })) })],
  });

  it('is proven, with the exact intervals', async () => {
    const audit = await log.audited({}, passing({ ...rest, lost: 3n }, [0n, 2n]));
    expect(audit).toMatchObject({ verdict: 'proven', findings: [], remaining: 0n, counters: { lost: 3n } });
    expect(audit.ranges).toMatchObject([{ lost: [{ first: 0n, last: 2n }], remaining: 0n, findings: [] }]);
  });

  it('in mid-run names what it lost exactly, and apart from it what it had settled before that was removed, too', async () => {
    const audit = await log.audited({}, passing({ ...rest, ok: 2n, lost: 2n }, [1n, 2n]));
    expect(audit).toMatchObject({ verdict: 'unprovable', remaining: 0n });
    expect(audit.ranges[0]?.lost).toEqual([{ first: 1n, last: 2n }]);
    expect(messagesOf(audit)).toBe('offsets 0 are not in the log any more');
  });

  it('still names it exactly when more is removed after it', async () => {
    await log.cut(5);
    const audit = await log.audited({}, passing({ ...rest, lost: 3n }, [0n, 0n], [1n, 2n]));
    expect(audit.ranges[0]?.lost).toEqual([{ first: 0n, last: 2n }]);
    expect([audit.verdict, messagesOf(audit)]).toEqual(['unprovable', 'offsets 3 to 4 are not in the log any more']);
  });

  it('is broken behind a loss as anywhere, however exact its places are', async () => {
    const audit = await log.audited({}, passing({ ...rest, markers: 5n, skipped: 0n, lost: 3n }, [0n, 2n]));
    expect(audit.verdict).toBe('broken');
    expect(messagesOf(audit)).toMatch(/markers and aborted records counted: 5; shown by the log: 4/);
  });

  it.each([
    ['a record', [2n, 3n], 2n, 'offsets said to be lost that the log still shows: 1 of 2 to 3'],
    ['a marker', [5n, 6n], 2n, 'offsets said to be lost that the log still shows: 2 of 5 to 6'],
    ['more places than were counted', [0n, 2n], 2n, 'offsets passed as lost: 3; counted as lost: 2'],
  ] as const)('is broken when it names %s', async (_, place, lost, message) => {
    const audit = await log.audited({}, passing({ ...rest, ok: 2n, lost }, place));
    expect(audit.verdict).toBe('broken');
    expect(messagesOf(audit)).toContain(message);
  });

  it('has numbers of the rest that are proved where some places are known and others only counted', async () => {
    const all = await log.audited({}, passing({ ...rest, lost: 3n }, [1n, 1n]));
    expect(all).toMatchObject({ verdict: 'proven', ranges: [{ lost: [{ first: 0n, last: 2n }] }] });
    const some = await log.audited({}, passing({ ...rest, ok: 2n, lost: 2n }, [1n, 1n]));
    expect([some.verdict, some.ranges[0]?.lost]).toEqual(['unprovable', undefined]);
    expect(messagesOf(some)).toContain('(counted as lost without a place: 1 of 2)');
    const many = await log.audited({}, passing({ ...rest, skipped: 0n, lost: 4n }, [1n, 1n]));
    expect(messagesOf(many)).toMatch(/counted as lost: 4; lacking in the log: 3/);
  });

  it('agrees with a state that names what was passed, and with one of an older version that does not', async () => {
    const totals = { ...NO_COUNTS, ...rest, lost: 3n };
    const ranges = passing({ ...rest, lost: 3n }, [0n, 2n]);
    const said = (lost: readonly LostOffsets[]) => log.audited({}, { ...ranges, totals, lost });
    expect((await said([{ partition: 0, first: 0n, last: 2n }])).verdict).toBe('proven');
    expect((await said([])).verdict).toBe('proven');
    expect(messagesOf(await said([{ partition: 0, first: 0n, last: 1n }]))).toBe(
      "the job's state says lost: 0:0 to 1; its ranges: 0:0 to 2",
    );
  });

  it('whose places an older version did not keep is proven, with the exact intervals, when nothing else was removed', async () => {
    const audit = await log.audited({ ...rest, lost: 3n });
    expect(audit).toMatchObject({ verdict: 'proven', findings: [], remaining: 0n });
    expect(audit.ranges).toMatchObject([{ lost: [{ first: 0n, last: 2n }], remaining: 0n, findings: [] }]);
  });

  it('is not all provable when more is gone than it lost, and says of which offsets', async () => {
    const audit = await log.audited({ ...rest, ok: 2n, lost: 2n });
    expect(audit.verdict).toBe('unprovable');
    expect(audit.ranges[0]?.lost).toBeUndefined();
    expect(messagesOf(audit)).toBe(
      'offsets 0 to 2 are not in the log any more (counted as lost without a place: 2 of 3)',
    );
  });

  it('is broken when it counts a loss of what the log still shows', async () => {
    const audit = await log.audited({ ...rest, skipped: 0n, lost: 4n });
    expect(audit.verdict).toBe('broken');
    expect(messagesOf(audit)).toMatch(/counted as lost: 4; lacking in the log: 3/);
  });
});

describe('B1: a job that stops at a loss', () => {
  const named = { partition: 0, first: 0n, last: 2n };
  const range = checkpointOf({}, { cursor: -1n, status: 'stopped', note: 'OFFSETS_LOST: 0-2', lost: [named] });
  const job = {
    ranges: [range],
    phase: JobPhase.unrecoverable,
    totals: { ...NO_COUNTS, lost: 3n },
    lost: [named],
  };

  it('has numbers that add up: what it named is neither passed nor remaining', async () => {
    const audit = await log.audited({}, job);
    expect(audit).toMatchObject({ verdict: 'proven', scanned: 0n, remaining: 7n, counters: { lost: 3n } });
    expect(audit.ranges).toMatchObject([{ lost: [{ first: 0n, last: 2n }], remaining: 7n }]);
  });

  it('is broken when the log still holds what was named', async () => {
    const wrong = { partition: 0, first: 0n, last: 3n };
    const audit = await log.audited(
      {},
      { ...job, ranges: [{ ...range, lost: [wrong] }], totals: { ...NO_COUNTS, lost: 4n }, lost: [wrong] },
    );
    expect(audit.verdict).toBe('broken');
    expect(messagesOf(audit)).toBe('offsets named as lost: 0 to 3; the log begins at 3');
  });

  it('is broken when its result names other intervals, or another sum, than its ranges', async () => {
    const other = await log.audited({}, { ...job, lost: [{ partition: 0, first: 1n, last: 3n }] });
    expect(messagesOf(other)).toBe("the job's state says lost: 0:1 to 3; its ranges: 0:0 to 2");
    const fewer = await log.audited({}, { ...job, totals: { ...NO_COUNTS, lost: 2n } });
    expect(messagesOf(fewer)).toBe("the job's state says lost 2, its ranges together 3");
  });

  it('counts a parked record that is gone as lost, once', async () => {
    const parked = { offset: 2n, attempt: 1, dueAtMs: 0n, faultClass: 'transient', keyHash: '' };
    const gone = { partition: 0, first: 2n, last: 2n };
    const ranges = [
      checkpointOf({ ok: 2n, parked: 1n }, { cursor: 2n, status: 'stopped', lost: [gone], parked: [parked] }),
    ];
    const audit = await log.audited({}, { ...job, ranges, totals: { ...NO_COUNTS, ok: 2n, lost: 1n }, lost: [gone] });
    expect(audit).toMatchObject({ verdict: 'unprovable', remaining: 7n, counters: { parked: 0n, lost: 1n } });
    expect(messagesOf(audit)).toBe('offsets 0 to 1 are not in the log any more');
  });
});
