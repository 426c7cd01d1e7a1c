/** What an audit makes of records that somebody removed under a job, by whether the job passed them or stopped at them. */
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

  it('is proven, with the exact intervals, when nothing else was removed', async () => {
    const audit = await log.audited({ ...rest, lost: 3n });
    expect(audit).toMatchObject({ verdict: 'proven', findings: [], remaining: 0n });
    expect(audit.ranges).toMatchObject([{ lost: [{ first: 0n, last: 2n }], remaining: 0n, findings: [] }]);
  });

  it('is not all provable when more is gone than it lost, and says of which offsets', async () => {
    const audit = await log.audited({ ...rest, ok: 2n, lost: 2n });
    expect(audit.verdict).toBe('unprovable');
    expect(audit.ranges[0]?.lost).toBeUndefined();
    expect(messagesOf(audit)).toBe('offsets 0 to 2 are not in the log any more (counted as lost: 2 of 3)');
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
  });
});
