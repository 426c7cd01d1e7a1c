import {
  type AvroHandler,
  defineHandler,
  done,
  fenced,
  type HandlerContext,
  type HandlerEvent,
  type Outcome,
  type RawHandler,
  skip,
} from '@tidemark/handlers';
import { type JobDefinition, Ordering } from '@tidemark/jobs';
import { type ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { Chunk } from '@tidemark/log';
import { describe, expect, it } from 'vitest';
import { ChunkParking } from '../chunk/chunk-parking.ts';
import { SettledPrefix } from '../chunk/settled-prefix.ts';
import type { DeadLetter } from '../dead-letters/dead-letter-record.ts';
import { SYNC_TURN_MS } from '../limits.ts';
import { ParkedSet } from '../parked/parked-set.ts';
import { chunkOf } from '../testing/chunks.ts';
import { jobDefinition } from '../testing/job-definition.ts';
import { Run } from './run.ts';

type Handle = (event: HandlerEvent<Buffer | null>, context: HandlerContext) => Promise<Outcome> | Outcome;

function handlerOf(
  handle: Handle,
  more: Partial<Pick<RawHandler, 'concurrency' | 'timeoutMs' | 'classify'>> = {},
): RawHandler {
  return defineHandler({ name: 'h', input: 'raw', idempotent: true, handle, ...more });
}

/** A run over a chunk with pauses of no length: the random number is always 0. */
function setUp(options: {
  handler: RawHandler | AvroHandler<never>;
  chunk?: Chunk;
  job?: Partial<JobDefinition>;
  sendFails?: () => boolean;
  trustLeftMs?: () => number;
  recordsMax?: number;
}) {
  const chunk = options.chunk ?? chunkOf(-1, 5);
  const { records } = chunk;
  const prefix = new SettledPrefix(chunk);
  const job = jobDefinition({ attempts: 3, ...options.job });
  const parked = new ParkedSet();
  const policy = new ChunkParking({ job, parked, records, prefix, nowMs: () => 0, random: () => 0 });
  const letters: DeadLetter[] = [];
  const spent: { readonly records: number; readonly ms: number }[] = [];
  const stop = new AbortController();
  const abandon = new AbortController();
  const letGo = new AbortController();
  const log = { info: () => undefined, warn: () => undefined };
  const run = new Run({
    job,
    partition: 1,
    handler: options.handler,
    scope: { jobId: 'job', parameters: { p: 'v' }, rangeId: 'range', token: 'token', log },
    records,
    settlements: prefix,
    policy,
    payloads: undefined,
    sendDeadLetters: async (sent) => {
      if (options.sendFails?.())
        throw new TidemarkError({
          code: 'REFUSED',
          class: 'unavailable',
          message: 'no',
          context: { dependency: 'dead letters of t' },
        });
      letters.push(...sent);
    },
    signals: { stop: stop.signal, abandon: abandon.signal, letGo: letGo.signal },
    trustLeftMs: options.trustLeftMs ?? (() => 60_000),
    recordsMax: () => options.recordsMax ?? Number.POSITIVE_INFINITY,
    onSpent: (call) => spent.push(call),
    metrics: undefined,
  });
  const untouched = (): boolean => run.startedCount <= prefix.prefixCount;
  return { run, prefix, parked, policy, untouched, letters, spent, stop, abandon, letGo };
}

function failing(errorClass: ErrorClass): TidemarkError {
  return new TidemarkError({ code: 'FAILS', class: errorClass, message: 'it fails', context: { dependency: 'sink' } });
}

describe('a chunk with `handle`', () => {
  it('hands over every record in order, with its context, and settles it by its outcome', async () => {
    const seen: string[] = [];
    const handler = handlerOf((event, context) => {
      seen.push(
        `${event.topic}/${event.partition}/${event.offset}=${event.payload} ${context.parameters['p']} ${context.token} ${context.attempt}`,
      );
      return event.offset === 2n ? skip('recalled') : done();
    });
    const { run, prefix, untouched } = setUp({ handler });
    expect(await run.run()).toEqual({ kind: 'complete' });
    expect(seen).toEqual([0, 1, 2, 3, 4].map((offset) => `t/1/${offset}=${offset} v token 1`));
    expect(prefix.take()).toMatchObject({ to: 4n, add: { ok: 4n, skipped: 1n } });
    expect(untouched()).toBe(true);
  });

  it('P4: hands a record over once when it is run again at once after a halt, whatever the first run had planned', async () => {
    const calls: string[] = [];
    let isUp = false;
    const handler = handlerOf(
      async ({ offset }) => {
        calls.push(`${isUp ? 'again' : 'first'} ${offset}`);
        if (!isUp && offset === 0n) throw failing('unavailable');
        // Longer than a turn, so that the run plans to go on after timers and signals had theirs.
        if (offset === 1n) for (const endMs = performance.now() + SYNC_TURN_MS + 5; performance.now() < endMs; );
        if (isUp) await new Promise((resolve) => setTimeout(resolve, 5));
        return done();
      },
      { concurrency: 2 },
    );
    const { run, prefix } = setUp({ handler });
    expect(await run.run()).toMatchObject({ kind: 'unavailable' });
    isUp = true;
    expect(await run.run()).toEqual({ kind: 'complete' });
    expect(calls).toEqual(['first 0', 'first 1', 'again 0', 'again 2', 'again 3', 'again 4']);
    expect(prefix.isComplete).toBe(true);
  });

  it('runs as many at once as the handler allows, and one under ordering partition', async () => {
    for (const [ordering, expected] of [
      ['none', 3],
      ['partition', 1],
    ] as const) {
      let running = 0;
      let most = 0;
      const handler = handlerOf(
        async () => {
          running += 1;
          most = Math.max(most, running);
          await Promise.resolve();
          running -= 1;
          return done();
        },
        { concurrency: 3 },
      );
      await setUp({ handler, job: { ordering: Ordering[ordering] } }).run.run();
      expect(most).toBe(expected);
    }
  });

  it('handles a long chunk of a handler that never waits without growing the stack', async () => {
    const { run, prefix } = setUp({ handler: handlerOf(() => done()), chunk: chunkOf(-1, 50_000) });
    expect(await run.run()).toEqual({ kind: 'complete' });
    expect(prefix.take()?.to).toBe(49_999n);
  });

  it('retries a transient fault up to the attempts of the job, then writes a dead letter', async () => {
    const attempts: number[] = [];
    const handler = handlerOf((event, context) => {
      if (event.offset !== 1n) return done();
      attempts.push(context.attempt);
      throw new Error('flaky');
    });
    const { run, prefix, letters } = setUp({ handler });
    expect(await run.run()).toEqual({ kind: 'complete' });
    expect(attempts).toEqual([1, 2, 3]);
    expect(letters).toMatchObject([
      { record: { offset: 1n }, attempt: 3, faultClass: 'transient', error: 'flaky', token: 'token', jobId: 'job' },
    ]);
    expect(prefix.take()?.add).toMatchObject({ ok: 4n, deadLettered: 1n, retries: 2n });
  });

  it('settles a record that succeeds on a later attempt', async () => {
    const handler = handlerOf(async (event, context) => {
      if (event.offset === 1n && context.attempt < 3) throw new Error('flaky');
      return done();
    });
    const { run, prefix, letters } = setUp({ handler });
    await run.run();
    expect(letters).toEqual([]);
    expect(prefix.take()?.add).toMatchObject({ ok: 5n, retries: 2n });
  });

  it('dead-letters a bad record at once, its neighbours go on', async () => {
    const handler = handlerOf((event) => {
      if (event.offset === 1n) throw failing('data');
      return done();
    });
    const { run, prefix, letters } = setUp({ handler });
    await run.run();
    expect(letters).toMatchObject([{ attempt: 1, faultClass: 'data' }]);
    expect(prefix.take()?.add).toMatchObject({ ok: 4n, deadLettered: 1n, retries: 0n });
  });

  it('dead-letters what a handler in plain JavaScript forgot to answer', async () => {
    const { run, letters } = setUp({ handler: handlerOf((() => undefined) as never as Handle), chunk: chunkOf(-1, 1) });
    await run.run();
    expect(letters).toMatchObject([{ faultClass: 'data', error: expect.stringContaining('must return done()') }]);
  });

  it('stops the chunk when a dependency is down: no attempt spent, no dead letter, and it goes on later', async () => {
    let down = true;
    const seen: bigint[] = [];
    const handler = handlerOf((event) => {
      if (event.offset === 2n && down) throw failing('unavailable');
      seen.push(event.offset);
      return done();
    });
    const { run, prefix, letters, untouched } = setUp({ handler, job: { attempts: 1 } });
    for (let round = 0; round < 3; round++) {
      expect(await run.run()).toEqual({ kind: 'unavailable', dependency: 'sink', message: 'it fails' });
    }
    expect(prefix.take()).toMatchObject({ to: 1n });
    expect(untouched()).toBe(false);
    down = false;
    expect(await run.run()).toEqual({ kind: 'complete' });
    expect(seen).toEqual([0n, 1n, 2n, 3n, 4n]);
    expect(letters).toEqual([]);
    expect(prefix.take()).toMatchObject({ to: 4n, add: { ok: 3n, retries: 0n } });
  });

  it('F5: keeps the record open while dead letters are refused', async () => {
    let refuses = true;
    const handler = handlerOf(() => {
      throw failing('data');
    });
    const { run, prefix, letters } = setUp({ handler, chunk: chunkOf(-1, 1), sendFails: () => refuses });
    expect(await run.run()).toMatchObject({ kind: 'dead letters refused', dependency: 'dead letters of t' });
    expect(prefix.take()).toBeUndefined();
    refuses = false;
    expect(await run.run()).toEqual({ kind: 'complete' });
    expect(letters).toHaveLength(1);
  });

  it('takes an answer that does not come in time for a failed attempt, and aborts its signal', async () => {
    const aborted: boolean[] = [];
    const handler = handlerOf(
      (event, { signal, attempt }) => {
        if (event.offset !== 0n || attempt > 1) return done();
        return new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            aborted.push(true);
            resolve(done()); // too late to count
          });
        });
      },
      { timeoutMs: 5 },
    );
    const { run, prefix } = setUp({ handler, job: { parkedMax: 0 } });
    expect(await run.run()).toEqual({ kind: 'complete' });
    expect(aborted).toEqual([true]);
    expect(prefix.take()?.add).toMatchObject({ ok: 5n, retries: 1n });
  });

  it('lets go at once when the sink has seen a younger token', async () => {
    const seen: bigint[] = [];
    const handler = handlerOf((event) => {
      seen.push(event.offset);
      return event.offset === 1n ? fenced('token-9') : done();
    });
    const { run } = setUp({ handler });
    expect(await run.run()).toEqual({ kind: 'fenced', seen: 'token-9' });
    expect(seen).toEqual([0n, 1n]);
  });

  it('F3: starts no record after the signal, and waits for the running one', async () => {
    const seen: bigint[] = [];
    const finish = Promise.withResolvers<void>();
    const handler = handlerOf(async (event) => {
      seen.push(event.offset);
      if (event.offset === 1n) await finish.promise;
      return done();
    });
    const { run, prefix, stop, untouched } = setUp({ handler });
    const ending = run.run();
    await Promise.resolve();
    while (seen.length < 2) await Promise.resolve();
    stop.abort();
    finish.resolve();
    expect(await ending).toEqual({ kind: 'stopped' });
    expect(seen).toEqual([0n, 1n]);
    expect(prefix.take()).toMatchObject({ to: 1n, add: { ok: 2n } });
    expect(untouched()).toBe(true);
  });

  it.each(['abandon', 'letGo'] as const)('%s: aborts what runs and waits for nobody', async (which) => {
    let signal: AbortSignal | undefined;
    const handler = handlerOf((event, context) => {
      if (event.offset === 0n) return done();
      signal = context.signal;
      return new Promise<Outcome>(() => undefined);
    });
    const setting = setUp({ handler });
    const ending = setting.run.run();
    setting[which].abort();
    expect(await ending).toEqual({ kind: which === 'letGo' ? 'let go' : 'stopped' });
    expect(signal?.aborted).toBe(true);
    expect(setting.prefix.take()).toMatchObject({ to: 0n });
    expect(setting.untouched()).toBe(false);
  });

  it('E8: calls nothing once the lease is not trusted, also before the timer of the lease has said so', async () => {
    let trustLeftMs = 1_000;
    const called: bigint[] = [];
    const handler = handlerOf(async ({ offset }) => {
      called.push(offset);
      if (offset === 2n) trustLeftMs = 0;
      return done();
    });
    const { run, prefix } = setUp({ handler, trustLeftMs: () => trustLeftMs });
    expect(await run.run()).toEqual({ kind: 'let go' });
    expect(called).toEqual([0n, 1n, 2n]);
    // What had been settled by then may be offered to the store.
    expect(prefix.take()?.to).toBe(2n);
  });

  it('E8: starts no further attempt and writes no dead letter without trust', async () => {
    let trustLeftMs = 1_000;
    const attempts: number[] = [];
    const handler = handlerOf((_event, { attempt }) => {
      attempts.push(attempt);
      trustLeftMs = 0;
      throw failing('transient');
    });
    const { run, letters, prefix } = setUp({ handler, trustLeftMs: () => trustLeftMs });
    expect(await run.run()).toEqual({ kind: 'let go' });
    expect(attempts).toEqual([1]);
    expect(letters).toEqual([]);
    expect(prefix.take()).toBeUndefined();
  });
});

describe('a chunk with `handleBatch`', () => {
  const batch = (
    handleBatch: (
      events: readonly HandlerEvent<Buffer | null>[],
    ) => Promise<readonly Outcome[] | Outcome> | readonly Outcome[] | Outcome,
  ): RawHandler => defineHandler({ name: 'b', input: 'raw', idempotent: true, handleBatch });

  it('settles all with one outcome, or each with its own', async () => {
    const one = setUp({ handler: batch(() => done()) });
    expect(await one.run.run()).toEqual({ kind: 'complete' });
    expect(one.prefix.take()?.add).toMatchObject({ ok: 5n });
    const each = setUp({
      handler: batch(async (events) => events.map(({ offset }) => (offset % 2n === 0n ? done() : skip('odd')))),
    });
    expect(await each.run.run()).toEqual({ kind: 'complete' });
    expect(each.prefix.take()?.add).toMatchObject({ ok: 3n, skipped: 2n });
  });

  it('takes a batch that fails for good apart, so that one bad record does not condemn its chunk', async () => {
    const sizes: number[] = [];
    const handler = batch((events) => {
      sizes.push(events.length);
      if (events.some(({ offset }) => offset === 3n)) throw failing('data');
      return done();
    });
    const { run, prefix, letters } = setUp({ handler });
    expect(await run.run()).toEqual({ kind: 'complete' });
    expect(sizes).toEqual([5, 1, 1, 1, 1, 1]);
    expect(letters.map(({ record }) => record.offset)).toEqual([3n]);
    expect(prefix.take()?.add).toMatchObject({ ok: 4n, deadLettered: 1n });
  });

  it('retries the whole batch first', async () => {
    let calls = 0;
    const handler = batch(() => {
      calls += 1;
      if (calls < 3) throw new Error('deadlock');
      return done();
    });
    const { run, prefix } = setUp({ handler });
    await run.run();
    expect(calls).toBe(3);
    expect(prefix.take()?.add).toMatchObject({ ok: 5n, retries: 2n });
  });

  it('does not believe a list of another length', async () => {
    const { run, letters } = setUp({ handler: batch(() => [done()]), chunk: chunkOf(-1, 2) });
    await run.run();
    // Alone, each answers with a list of its own length.
    expect(letters).toEqual([]);
    expect(await run.run()).toEqual({ kind: 'complete' });
  });

  it('cuts the chunk for a handler that takes too long for all of it, and starts no part without trust', async () => {
    const sizes: number[] = [];
    const handler = batch((events) => {
      sizes.push(events.length);
      return done();
    });
    const cut = setUp({ handler, recordsMax: 2 });
    expect(await cut.run.run()).toEqual({ kind: 'complete' });
    expect(sizes).toEqual([2, 2, 1]);
    expect(cut.spent.map(({ records }) => records)).toEqual([2, 2, 1]);
    const cutShort = setUp({ handler, recordsMax: 2, trustLeftMs: () => (sizes.length < 4 ? 1_000 : 0) });
    expect(await cutShort.run.run()).toEqual({ kind: 'let go' });
    expect(cutShort.prefix.take()?.to).toBe(1n);
  });
});
