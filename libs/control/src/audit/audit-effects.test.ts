/** What an audit makes of the effects that a sink shows, or that a handler's `verify` tells. */
import type { LogRecord } from '@tidemark/log';
import { beforeEach, describe, expect, it } from 'vitest';
import { ASK_FAILURES_MAX } from '../limits.ts';
import { type AuditedJob, type AuditedLog, createAuditedLog, messagesOf, RIGHT } from '../testing/audited-log.ts';
import type { JobAudit } from './audit-job.ts';
import { askedEffects, type Effect, orderedEffects, type RecordEffect } from './effects.ts';

const FOUND: RecordEffect = { kind: 'found', count: 1n };
const PATIENCE_MS = 600_000;

let log: AuditedLog;

beforeEach(async () => {
  log = await createAuditedLog();
});

describe('a sink that is read in order', () => {
  const withSink = (...offsets: readonly bigint[]): Promise<JobAudit> => {
    const effects = [...Map.groupBy(offsets, (offset) => offset)].map(([offset, all]) => ({
      partition: 0,
      offset,
      count: BigInt(all.length),
    }));
    return log.audited(RIGHT, { options: { effects: orderedEffects(asyncOf(effects)) } });
  };

  it('proves one effect for each record that was not skipped, and passes over those of other jobs', async () => {
    const audit = await withSink(0n, 1n, 2n, 9n, 12n);
    expect(audit.verdict).toBe('proven');
    expect(audit.ranges).toMatchObject([{ effects: { found: 4n, duplicates: 0n, repeated: 0n, missing: 1n } }]);
  });

  it('finds a planted loss and a planted duplicate, and names the records', async () => {
    expect(messagesOf(await withSink(0n, 2n, 9n))).toBe(
      'records without an effect in the sink: 2; skipped: 1 (offsets 1, 4)',
    );
    const twice = await withSink(0n, 1n, 2n, 9n, 9n, 9n);
    expect(messagesOf(twice)).toBe(
      'effects beyond the first of their record: 2; records that may have been redelivered: 0 (offsets 9)',
    );
    expect(twice.ranges).toMatchObject([{ effects: { duplicates: 1n, repeated: 2n, first: { duplicates: [9n] } } }]);
  });
});

describe('a handler that is asked', () => {
  /** Everything is there once, but for what is planted by offset. */
  const asked = (
    planted: Readonly<Record<number, RecordEffect>>,
    given: AuditedJob['options'] & { readonly counters?: typeof RIGHT } = {},
  ): Promise<JobAudit> => {
    const ask = async (_: number, records: readonly LogRecord[]): Promise<readonly RecordEffect[]> =>
      records.map(({ offset }) => planted[Number(offset)] ?? FOUND);
    const { counters = RIGHT, ...options } = given;
    return log.audited(counters, {
      options: { effects: askedEffects(ask, { timeoutMs: PATIENCE_MS }), isIdempotent: true, ...options },
    });
  };

  it('proves right effects; a record with a dead letter need not have one', async () => {
    const audit = await asked({ 3: { kind: 'missing' }, 4: { kind: 'missing' } });
    expect(audit.verdict).toBe('proven');
    expect(audit.ranges).toMatchObject([{ effects: { found: 4n, missing: 1n, first: { missing: [4n] } } }]);
  });

  it('finds a planted loss that skipped records would hide, when it knows why they have no effect', async () => {
    const audit = await asked({ 4: { kind: 'none due' }, 9: { kind: 'missing' } });
    expect(audit.verdict).toBe('broken');
    expect(messagesOf(audit)).toBe('records without an effect in the sink: 2; skipped: 1 (offsets 9)');
    expect((await asked({ 4: { kind: 'none due' } })).verdict).toBe('proven');
  });

  it('finds a loss that the letter of an earlier delivery would hide: it excuses no more records than were dead-lettered', async () => {
    const counters = { ...RIGHT, ok: 5n, deadLettered: 0n, maybeRedelivered: 1n };
    expect((await asked({ 4: { kind: 'missing' } }, { counters })).verdict).toBe('proven');
    const lost = await asked({ 3: { kind: 'missing' }, 4: { kind: 'missing' } }, { counters });
    expect(lost.verdict).toBe('broken');
    expect(messagesOf(lost)).toMatch(/without an effect in the sink: 2; skipped: 1 .*1 of them with a dead letter/);
    const unsure = await asked({ 3: { kind: 'unknown', reason: 'archived' }, 4: { kind: 'missing' } }, { counters });
    expect(unsure.verdict).toBe('unprovable');
    expect(messagesOf(unsure)).toMatch(/effect is unknown: 1.*a dead letter/);
  });

  it('finds a duplicate of an idempotent handler, also where records may have been redelivered', async () => {
    const planted = { 1: { kind: 'found', count: 2n } } as const;
    const counters = { ...RIGHT, maybeRedelivered: 5n };
    const audit = await asked(planted, { counters });
    expect(audit.verdict).toBe('broken');
    expect(messagesOf(audit)).toBe(
      'effects beyond the first of their record: 1; the handler says that it is idempotent (offsets 1)',
    );
    expect((await asked(planted, { counters, isIdempotent: false })).verdict).toBe('proven');
  });

  it('proves nothing of records whose effect is unknown, and names them in one piece for each reason', async () => {
    const archived = { kind: 'unknown', reason: 'archived' } as const;
    const audit = await asked({ 0: archived, 1: archived, 2: FOUND, 9: archived });
    expect(audit.verdict).toBe('unprovable');
    expect(messagesOf(audit)).toBe('records whose effect is unknown: 3; offsets 0 to 1: archived; offsets 9: archived');
  });

  it('lets what may have been dead-lettered pass as not provable when letters were cut', async () => {
    log.cluster.deleteTopic('orders.dlq');
    const audit = await asked({ 3: { kind: 'missing' }, 4: { kind: 'missing' } });
    expect(audit.verdict).toBe('unprovable');
    expect(messagesOf(audit)).toMatch(/without an effect in the sink: 2; skipped: 1 .*up to 1 may have been dead-lett/);
    const worse = await asked({ 2: { kind: 'missing' }, 3: { kind: 'missing' }, 4: { kind: 'missing' } });
    expect(worse.verdict).toBe('broken');
  });
});

describe('a handler that fails', () => {
  const [first, second] = [recordAt(0n), recordAt(1n)];

  it('makes its records unknown, with the reason, and is asked for the next ones', async () => {
    let calls = 0;
    const ask = async (_: number, records: readonly LogRecord[]): Promise<readonly RecordEffect[]> => {
      calls += 1;
      if (calls === 1) throw new Error('no such table');
      return records.map(() => FOUND);
    };
    const source = askedEffects(ask, { timeoutMs: PATIENCE_MS });
    const unknown = { kind: 'unknown', reason: 'no such table' };
    expect(await source.effectsOf(0, [first, second])).toEqual([unknown, unknown]);
    expect(await source.effectsOf(0, [second])).toEqual([FOUND]);
    expect(await source.effectsOf(0, [])).toEqual([]);
    expect(calls).toBe(2);
  });

  it('is not asked any more after too many failures in a row, whatever the partition', async () => {
    let calls = 0;
    const ask = (): Promise<never> => Promise.reject(new Error(`down ${++calls}`));
    const source = askedEffects(ask, { timeoutMs: PATIENCE_MS });
    for (let call = 0; call < ASK_FAILURES_MAX; call++) await source.effectsOf(call % 3, [first]);
    expect(await source.effectsOf(0, [first])).toEqual([
      { kind: 'unknown', reason: 'not asked after 10 failures in a row, the last: down 10' },
    ]);
    expect(calls).toBe(ASK_FAILURES_MAX);
  });

  it('is asked on where failures are not in a row', async () => {
    let calls = 0;
    const ask = async (_: number, records: readonly LogRecord[]): Promise<readonly RecordEffect[]> => {
      if (++calls % ASK_FAILURES_MAX !== 0) throw new Error('hiccup');
      return records.map(() => FOUND);
    };
    const source = askedEffects(ask, { timeoutMs: PATIENCE_MS });
    for (let call = 1; call < ASK_FAILURES_MAX * 3; call++) await source.effectsOf(0, [first]);
    expect(await source.effectsOf(0, [first])).toEqual([FOUND]);
  });

  it('is not waited for longer than its time, and told so', async () => {
    let told: AbortSignal | undefined;
    const ask = (_: number, __: readonly LogRecord[], signal: AbortSignal): Promise<never> => {
      told = signal;
      return new Promise(() => {});
    };
    const answer = await askedEffects(ask, { timeoutMs: 1 }).effectsOf(0, [first]);
    expect(answer).toEqual([{ kind: 'unknown', reason: 'no answer within 1 ms' }]);
    expect(told?.aborted).toBe(true);
  });

  it('ends at once when the audit is stopped, also in the middle of a call that heeds nothing', async () => {
    const stopping = new AbortController();
    const ask = (): Promise<never> => {
      stopping.abort();
      return new Promise(() => {});
    };
    const effects = askedEffects(ask, { timeoutMs: PATIENCE_MS, signal: stopping.signal });
    await expect(log.audited(RIGHT, { options: { effects, signal: stopping.signal } })).rejects.toMatchObject({
      code: 'AUDIT_STOPPED',
    });
  });
});

function recordAt(offset: bigint): LogRecord {
  return { offset, timestampMs: 0n, key: null, value: null, headers: [] } as unknown as LogRecord;
}

async function* asyncOf(effects: readonly Effect[]): AsyncGenerator<Effect> {
  for (const effect of effects) yield await Promise.resolve(effect);
}
