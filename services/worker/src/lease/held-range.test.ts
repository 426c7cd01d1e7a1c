import { type CursorStore, JobMode } from '@tidemark/cursors';
import { createMemoryCursorStore } from '@tidemark/cursors/testing';
import { NO_COUNTS, TidemarkError, toOffset } from '@tidemark/keyspace';
import { silentLogger } from '@tidemark/observability';
import { describe, expect, it, onTestFinished } from 'vitest';
import { altered } from '../testing/altered-store.ts';
import { HeldRange } from './held-range.ts';

const TTL_MS = 60_000;
const range = { partition: 0, start: toOffset(-1) };
const unavailable = () => new TidemarkError({ code: 'REDIS_UNAVAILABLE', class: 'unavailable', message: 'no answer' });

/** A range `(-1, 99]` that is held, on a clock that only the test moves. */
async function setUp(changesOf: (store: CursorStore) => Partial<CursorStore> = () => ({})) {
  const clock = { monotonicMs: 0, wallMs: 0 };
  const memory = createMemoryCursorStore({ now: () => clock.wallMs });
  await memory.install({
    jobId: 'job',
    definition: '{}',
    epoch: toOffset(1),
    incarnation: await memory.incarnation(),
    ends: [{ partition: 0, end: toOffset(99) }],
    ranges: [
      {
        ...range,
        cursor: range.start,
        horizon: range.start,
        status: 'open',
        note: '',
        lost: [],
        passed: [],
        parked: [],
        counters: NO_COUNTS,
        version: 1n,
      },
    ],
  });
  const store = altered(memory, changesOf(memory));
  let sequence = 0n;
  const nextCall = () => ({ slot: 'a', sequence: ++sequence });
  const lease = await memory.lease({ call: nextCall(), jobId: 'job', range, leaseTtlMs: TTL_MS });
  if (lease.kind !== 'granted') throw new Error(lease.kind);
  const grant = {
    jobId: 'job',
    range,
    token: lease.token,
    cursor: lease.cursor,
    end: lease.end,
    parkedCount: 0,
    since: { ...clock },
  };
  const held = new HeldRange({
    store,
    grant,
    nextCall,
    leaseTtlMs: TTL_MS,
    clock: { now: () => ({ ...clock }) },
    random: () => 0,
    logger: silentLogger,
  });
  onTestFinished(() => held.dispose());
  const pass = (ms: number): void => {
    clock.monotonicMs += ms;
    clock.wallMs += ms;
  };
  const state = async () => (await memory.snapshot('job'))?.ranges[0];
  return { clock, memory, held, pass, state };
}

const move = (to: number, from = -1) => ({
  from: toOffset(from),
  to: toOffset(to),
  add: { ...NO_COUNTS, ok: BigInt(to - from) },
  park: [],
  passed: [],
});

describe('HeldRange', () => {
  it('claims, advances and is done at the end', async () => {
    const test = await setUp();
    const { held } = test;
    expect(await held.claim(toOffset(120))).toEqual({ kind: 'claimed' });
    expect(await held.advance(move(99))).toEqual({ kind: 'advanced' });
    expect(held).toMatchObject({ isDone: true, cursor: 99n, end: 99n });
  });

  it('claims nothing once the lease is not trusted, and aborts its signal', async () => {
    let calls = 0;
    const test = await setUp(() => ({
      claim: async () => {
        calls += 1;
        return { kind: 'fenced' };
      },
    }));
    test.pass(TTL_MS * 0.9);
    expect(await test.held.claim(toOffset(9))).toEqual({ kind: 'let go', reason: 'not trusted' });
    expect(test.held.signal.aborted).toBe(true);
    expect(calls).toBe(0);
  });

  it('does not believe a claim whose answer came too late', async () => {
    const test = await setUp((store) => ({
      claim: async (request) => {
        test.pass(TTL_MS);
        return store.claim(request);
      },
    }));
    expect(await test.held.claim(toOffset(9))).toEqual({ kind: 'let go', reason: 'not trusted' });
  });

  it('is trusted on from the instant at which the advance that renewed it was sent', async () => {
    const test = await setUp();
    await test.held.claim(toOffset(9));
    test.pass(TTL_MS / 2);
    await test.held.advance(move(9));
    test.pass(TTL_MS / 2);
    expect(test.held.ending).toBeUndefined();
    test.pass(TTL_MS / 2);
    expect(test.held.ending).toEqual({ kind: 'let go', reason: 'not trusted' });
  });

  it('does not trust it after a suspend', async () => {
    const test = await setUp();
    test.clock.wallMs += TTL_MS;
    expect(test.held.ending).toEqual({ kind: 'let go', reason: 'not trusted' });
  });

  it('lets go when a younger owner exists', async () => {
    const test = await setUp();
    const { held, memory, clock } = test;
    clock.wallMs += TTL_MS;
    await memory.lease({ call: { slot: 'b', sequence: 1n }, jobId: 'job', range, leaseTtlMs: TTL_MS });
    clock.wallMs -= TTL_MS;
    expect(await held.claim(toOffset(9))).toEqual({ kind: 'let go', reason: 'fenced' });
    expect(held.signal.aborted).toBe(true);
  });

  it('repeats a call whose answer was lost with the same id, and is counted once', async () => {
    const calls: bigint[] = [];
    const test = await setUp((store) => ({
      advance: async (request) => {
        calls.push(request.call.sequence);
        const answer = await store.advance(request);
        if (calls.length < 3) throw unavailable();
        return answer;
      },
    }));
    await test.held.claim(toOffset(9));
    expect(await test.held.advance(move(9))).toEqual({ kind: 'advanced' });
    expect(calls).toHaveLength(3);
    expect(new Set(calls).size).toBe(1);
    expect(await test.state()).toMatchObject({ cursor: 9n, counters: { ok: 10n } });
  });

  it('gives up on a store that does not answer when the trust ends', async () => {
    const test = await setUp(() => ({
      advance: async () => {
        test.pass(TTL_MS / 4);
        throw unavailable();
      },
    }));
    await test.held.claim(toOffset(9));
    expect(await test.held.advance(move(9))).toEqual({ kind: 'let go', reason: 'not trusted' });
    expect(await test.state()).toMatchObject({ cursor: -1n });
  });

  it('offers what is settled past the trust, is let go all the same, and gives the range back', async () => {
    const test = await setUp();
    const { held } = test;
    await held.claim(toOffset(9));
    test.pass(3 * TTL_MS);
    expect(held.trustLeftMs).toBe(0);
    expect(await held.advance(move(9))).toEqual({ kind: 'advanced' });
    expect(await test.state()).toMatchObject({ cursor: 9n, counters: { ok: 10n } });
    expect(held.ending).toEqual({ kind: 'let go', reason: 'not trusted' });
    expect(await held.claim(toOffset(19))).toEqual({ kind: 'let go', reason: 'not trusted' });
    await held.giveBackLetGo('slow: x');
    expect(await test.state()).toMatchObject({ owner: '', horizon: 9n, note: 'slow: x' });
  });

  it('E8: nothing that is offered past the trust is accepted once another owner had the range', async () => {
    let calls = 0;
    const test = await setUp((store) => ({
      advance: (request) => {
        calls += 1;
        return store.advance(request);
      },
      release: (request) => {
        calls += 1;
        return store.release(request);
      },
    }));
    const { held, memory } = test;
    await held.claim(toOffset(9));
    test.pass(TTL_MS);
    // He stands at the old cursor and has given the range back: only the token tells.
    const call = { slot: 'b', jobId: 'job', range };
    const heir = await memory.lease({ ...call, call: { slot: 'b', sequence: 1n }, leaseTtlMs: TTL_MS });
    if (heir.kind !== 'granted') throw new Error(heir.kind);
    const release = { delayMs: 0, note: '', untouched: true, token: heir.token };
    await memory.release({ ...call, ...release, call: { slot: 'b', sequence: 2n } });
    const before = await test.state();
    expect(await held.advance(move(9))).toEqual({ kind: 'let go', reason: 'not trusted' });
    expect(await held.advance(move(9))).toEqual({ kind: 'let go', reason: 'not trusted' });
    await held.giveBackLetGo('');
    expect(calls).toBe(1);
    expect(await test.state()).toEqual(before);
  });

  it('offers each move from where it was measured: after a lost one the counters of the next would not add up', async () => {
    let failing = true;
    const test = await setUp((store) => ({
      advance: async (request) => {
        if (!failing) return store.advance(request);
        test.pass(TTL_MS);
        throw unavailable();
      },
    }));
    await test.held.claim(toOffset(9));
    expect(await test.held.advance(move(4))).toMatchObject({ kind: 'let go' });
    failing = false;
    expect(await test.held.advance(move(9, 4))).toMatchObject({ kind: 'let go' });
    expect(await test.state()).toMatchObject({ cursor: -1n, counters: { ok: 0n } });
  });

  it('sends its calls one after the other', async () => {
    let underWay = 0;
    let most = 0;
    const slowly = async <T>(work: () => Promise<T>): Promise<T> => {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setImmediate(resolve));
      underWay -= 1;
      return work();
    };
    const test = await setUp((store) => ({
      advance: (request) => slowly(() => store.advance(request)),
      renew: (request) => slowly(() => store.renew(request)),
    }));
    await test.held.claim(toOffset(9));
    await Promise.all([test.held.advance(move(4)), test.held.advance(move(9, 4)), test.held.setNote('waiting: x')]);
    expect(most).toBe(1);
    expect(await test.state()).toMatchObject({ cursor: 9n, note: 'waiting: x' });
  });

  it('gives a halted range back, so that the next owner need not wait for the lease', async () => {
    const test = await setUp();
    await test.memory.setMode({ jobId: 'job', mode: JobMode.halted });
    expect(await test.held.claim(toOffset(9))).toEqual({ kind: 'let go', reason: 'not running' });
    await test.held.giveBackLetGo('');
    expect(await test.state()).toMatchObject({ owner: '', horizon: -1n });
  });

  it('takes an advance beyond its claim for a bug', async () => {
    const test = await setUp();
    await test.held.claim(toOffset(9));
    await expect(test.held.advance(move(10))).rejects.toMatchObject({ code: 'ADVANCE_OUT_OF_BOUNDS', class: 'bug' });
  });
});
