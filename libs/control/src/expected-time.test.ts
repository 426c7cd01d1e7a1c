import type { Counters } from '@tidemark/contracts';
import { sampleRequest, sampleState } from '@tidemark/jobs/testing';
import { NO_COUNTS } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { expectedTime, paceOfHandler } from './expected-time.ts';

function job(jobId: string, at: number, fields: Partial<Counters>, more: { handler?: string; state?: string } = {}) {
  const { handler = 'count', state = 'COMPLETED' } = more;
  const request = sampleRequest({ jobId, handler });
  return sampleState({ request, state, ranMs: 2_000n, updatedAtMs: BigInt(at), totals: { ...NO_COUNTS, ...fields } });
}

it('takes the pace of the newest job of the handler that came to its end and handled something', () => {
  const jobs = [
    job('older', 1, { ok: 2n }),
    job('newest', 5, { ok: 600n, skipped: 300n, deadLettered: 100n, filtered: 9_000n }),
    job('empty', 6, { filtered: 10n }),
    job('cancelled', 7, { ok: 1n }, { state: 'CANCELLED' }),
    job('other', 8, { ok: 1n }, { handler: 'webhook' }),
    job('old', 2, { ok: 4n }),
  ];
  expect(paceOfHandler(jobs, 'count')).toEqual({
    perSecond: 500,
    source: 'job newest, the newest finished one of handler count: 1000 records in 2 s',
  });
  expect(paceOfHandler(jobs, 'republish')).toBeUndefined();
});

it('invents nothing: without a pace, or without a count, there is no time', () => {
  const pace = { perSecond: 10, source: 'named' };
  expect(expectedTime({ records: 5n, pace: undefined, ratePerSecond: 0 })).toMatchObject({
    kind: 'unknown',
    reason: expect.stringContaining('--records-per-second'),
  });
  expect(expectedTime({ records: null, pace, ratePerSecond: 0 })).toMatchObject({ kind: 'unknown' });
});

it('goes by the slower of the known pace and the rate that the job asks for', () => {
  const pace = { perSecond: 100, source: 'named' };
  const about = (given: typeof pace | undefined, ratePerSecond: number) =>
    expectedTime({ records: 1_000n, pace: given, ratePerSecond });
  expect(about(pace, 0)).toEqual({ kind: 'about', seconds: 10, perSecond: 100, source: 'named' });
  expect(about(pace, 50)).toMatchObject({ seconds: 20, source: 'its own --rate' });
  expect(about(pace, 500)).toMatchObject({ seconds: 10, source: 'named' });
  expect(about(undefined, 50)).toMatchObject({ seconds: 20 });
});

it('A5: nothing to handle takes no time, whatever is known', () => {
  expect(expectedTime({ records: 0n, pace: undefined, ratePerSecond: 0 })).toMatchObject({ kind: 'about', seconds: 0 });
});
