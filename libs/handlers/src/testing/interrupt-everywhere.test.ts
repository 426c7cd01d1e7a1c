import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { defineHandler, done, fenced, type HandlerContext, type RawHandler, skip } from '../../index.ts';
import { eventsOf, type InterruptionOptions, interruptEverywhere, type Probe } from './index.ts';
import { DEADLINE_MS } from './limits.ts';

/** A sink in memory that answers later, as real ones do. */
function createSink() {
  const counts = new Map<string, number>();
  const values = new Map<string, string>();
  const seen = new Set<string>();
  const tokens = new Map<string, string>();
  const service = {
    increment: async (key: string) => void counts.set(key, (counts.get(key) ?? 0) + 1),
    put: async (key: string, value: string) => void values.set(key, value),
    hasSeen: async (key: string) => seen.has(key),
    markSeen: async (key: string) => void seen.add(key),
    /** One atomic step, as an insert with a unique key. */
    incrementOnce: async (key: string, of: string) => {
      if (seen.has(key)) return false;
      seen.add(key);
      counts.set(of, (counts.get(of) ?? 0) + 1);
      return true;
    },
    /** The same, under a token. */
    incrementUnderToken: async (key: string, of: string, { rangeId, token }: HandlerContext) => {
      const youngest = tokens.get(rangeId) ?? '';
      if (youngest > token) return youngest;
      tokens.set(rangeId, token);
      await service.incrementOnce(key, of);
      return token;
    },
  };
  return {
    service,
    reset: () => {
      for (const kept of [counts, values, seen, tokens]) kept.clear();
    },
    snapshot: () => ({ counts, values, seen: [...seen].sort((a, b) => a.localeCompare(b)) }),
  };
}

type Sink = ReturnType<typeof createSink>['service'];
type Handle = NonNullable<RawHandler['handle']>;

const events = eventsOf(['a', 'b', 'a'].map((text) => Buffer.from(text)));

async function tryHandle(
  handle: (sink: Sink) => Handle,
  more: Partial<InterruptionOptions<Buffer | null>> = {},
): Promise<readonly string[]> {
  return await tryHandler((sink) => ({ ...shape, handle: handle(sink) }), more);
}

async function tryHandler(
  make: (sink: Sink, probe: Probe) => RawHandler,
  more: Partial<InterruptionOptions<Buffer | null>> = {},
): Promise<readonly string[]> {
  const { service, reset, snapshot } = createSink();
  const { tried } = await interruptEverywhere((probe) => defineHandler(make(probe.calls('sink', service), probe)), {
    events,
    reset,
    snapshot,
    ...more,
  });
  return tried;
}

async function reportOf(tried: Promise<unknown>): Promise<string> {
  return await tried.then(
    () => 'nothing was found',
    (error: unknown) => (error as Error).message,
  );
}

const shape = { name: 'tried', input: 'raw', idempotent: true } as const;
const text = (value: Buffer | null): string => value?.toString() ?? '';

describe('passes a handler that is right', () => {
  const once =
    (sink: Sink): Handle =>
    async ({ offset, value }) =>
      (await sink.incrementOnce(String(offset), text(value))) ? done() : skip('seen');

  it('and says what was tried: each call and each step from both sides', async () => {
    const tried = await tryHandle(once);
    expect(tried).toEqual([
      'the worker dies after handling record topic/0/0, before its cursor moved',
      'the worker dies after handling record topic/0/1, before its cursor moved',
      'the worker dies after handling record topic/0/2, before its cursor moved',
      'the signal is aborted while handling record topic/0/0',
      'the signal is aborted while handling record topic/0/1',
      'the signal is aborted while handling record topic/0/2',
      ...[1, 2, 3].flatMap((step) => [
        `the worker dies before step ${step}: sink.incrementOnce`,
        `the worker dies after it did step ${step}: sink.incrementOnce`,
        `the signal is aborted after step ${step}: sink.incrementOnce`,
      ]),
      'the same owner handles the chunk again',
      'each record comes twice in a row',
      'a younger owner handles the chunk, then the older one goes on with record topic/0/0',
      'a younger owner handles the chunk, then the older one goes on with record topic/0/1',
      'a younger owner handles the chunk, then the older one goes on with record topic/0/2',
      ...[1, 2, 3].flatMap((step) => [
        `a younger owner handles the chunk while the older one stands before step ${step}: sink.incrementOnce`,
        `the time of a call is over before step ${step}, and the same owner tries again: sink.incrementOnce`,
      ]),
    ]);
  });

  it('and that fences, when it says so', async () => {
    const handle =
      (sink: Sink): Handle =>
      async ({ offset, value }, context) => {
        const youngest = await sink.incrementUnderToken(String(offset), text(value), context);
        return youngest === context.token ? done() : fenced(youngest);
      };
    expect(await tryHandle(handle, { fences: true })).toHaveLength(26);
  });

  it('and looks at its signal between two effects', async () => {
    const handle =
      (sink: Sink): Handle =>
      async ({ offset, value }, { signal }) => {
        await sink.incrementOnce(`first ${offset}`, text(value));
        signal.throwIfAborted();
        await sink.incrementOnce(`second ${offset}`, text(value));
        return done();
      };
    expect(await tryHandle(handle)).toHaveLength(41);
  });

  it('in batches, of the size that it asks for', async () => {
    const sizes: number[] = [];
    const tried = await tryHandler((sink) => ({
      ...shape,
      batchRecordsMax: 2,
      async handleBatch(batch) {
        sizes.push(batch.length);
        return await Promise.all(
          batch.map(async (event) =>
            (await sink.incrementOnce(String(event.offset), text(event.value))) ? done() : skip('seen'),
          ),
        );
      },
    }));
    expect(Math.max(...sizes)).toBe(2);
    expect(tried[0]).toBe('the worker dies after handling records topic/0/0 to 1, before its cursor moved');
    expect(tried).toHaveLength(2 + 2 + 9 + 2 + 2 + 6);
  });

  it('although some of its records are bad: they are dead letters, alone', async () => {
    const bad = new TidemarkError({ code: 'BAD', class: ErrorClass.data, message: 'bad' });
    const tried = await tryHandler((sink) => ({
      ...shape,
      async handleBatch(batch) {
        if (batch.some(({ value }) => text(value) === 'b')) throw bad;
        for (const { offset, value } of batch) await sink.incrementOnce(String(offset), text(value));
        return done();
      },
    }));
    expect(tried.filter((what) => what.startsWith('the worker dies before step'))).toHaveLength(2);
  });

  it('although it fails at first: what is worth another try is tried again', async () => {
    await tryHandle((sink) => async (event, { attempt }) => {
      if (attempt < 3) throw new Error('not yet');
      return await once(sink)(event, {} as HandlerContext);
    });
  });

  it('without a probe: the boundaries between records are left', async () => {
    const { service, reset, snapshot } = createSink();
    const { tried } = await interruptEverywhere(() => defineHandler({ ...shape, handle: once(service) }), {
      events,
      reset,
      snapshot,
    });
    expect(tried).toHaveLength(11);
  });
});

describe('finds', () => {
  it('a counter that is incremented blindly, and says where and by how much', async () => {
    const report = await reportOf(
      tryHandle((sink) => async ({ value }) => {
        await sink.increment(text(value));
        return done();
      }),
    );
    expect(report).toContain('of 26 interruptions change what tried does (- expected, + found)');
    expect(report).toContain(
      [
        '1. the worker dies after handling record topic/0/0, before its cursor moved',
        "   - counts: Map(2) { 'a' => 2, 'b' => 1 }",
        "   + counts: Map(2) { 'a' => 3, 'b' => 1 }",
      ].join('\n'),
    );
  });

  it('the same without a probe, and in a batch', async () => {
    const { service, reset, snapshot } = createSink();
    const blind = defineHandler({
      ...shape,
      async handleBatch(batch) {
        for (const { value } of batch) await service.increment(text(value));
        return done();
      },
    });
    expect(await reportOf(interruptEverywhere(() => blind, { events, reset, snapshot }))).toContain(
      '5 of 5 interruptions',
    );
  });

  it('an effect between the look and the note that it was done, and a note before the effect', async () => {
    const report = await reportOf(
      tryHandle((sink) => async ({ offset, value }, { signal }) => {
        if (await sink.hasSeen(String(offset))) return skip('seen');
        signal.throwIfAborted();
        await sink.increment(text(value));
        signal.throwIfAborted();
        await sink.markSeen(String(offset));
        return done();
      }),
    );
    expect(report).toContain('the worker dies after it did step 2: sink.increment\n');
    expect(report).not.toContain('the worker dies after it did step 1: sink.hasSeen\n');
    const other = await reportOf(
      tryHandle((sink) => async ({ offset, value }) => {
        if (await sink.hasSeen(String(offset))) return skip('seen');
        await sink.markSeen(String(offset));
        await sink.increment(text(value));
        return done();
      }),
    );
    expect(other).toContain('the worker dies after it did step 2: sink.markSeen\n');
  });

  it('an effect after the signal, although it does no other harm', async () => {
    const report = await reportOf(
      tryHandle((sink) => async ({ offset, value }) => {
        await sink.incrementOnce(`first ${offset}`, text(value));
        await sink.incrementOnce(`second ${offset}`, text(value));
        return done();
      }),
    );
    expect(report).toContain('3 of 41 interruptions');
    expect(report).toContain('1. the signal is aborted after step 1: sink.incrementOnce\n   it acts after its signal');
  });

  it('a last write that an older owner repeats over the younger one', async () => {
    const versions = ['1', '2', '3'].map((value) => Buffer.from(value));
    const report = await reportOf(
      tryHandle(
        (sink) =>
          async ({ value }) => {
            await sink.put('row', text(value));
            return done();
          },
        { events: eventsOf(versions) },
      ),
    );
    expect(report).toContain('a younger owner handles the chunk, then the older one goes on with record topic/0/0');
    expect(report).toContain("   + values: Map(1) { 'row' => '1' }\n");
    expect(report).not.toContain('the worker dies');
  });

  it('tokens that are ignored, only when the handler claims to fence', async () => {
    const handle =
      (sink: Sink): Handle =>
      async ({ offset, value }) => {
        await sink.incrementOnce(String(offset), text(value));
        return done();
      };
    await tryHandle(handle);
    const report = await reportOf(tryHandle(handle, { fences: true }));
    expect(report).toContain('3 of 26 interruptions');
    expect(report).toContain('it took the older token: fenced(');
  });

  it('a token that is refused to the one who has it', async () => {
    const refusing = createSink();
    const report = await reportOf(
      interruptEverywhere(
        () => {
          const taken = new Set<string>();
          return defineHandler({
            ...shape,
            handle: async ({ offset, value }, { token }) => {
              if (taken.has(`${token}/${offset}`)) return fenced(token);
              taken.add(`${token}/${offset}`);
              await refusing.service.incrementOnce(String(offset), text(value));
              return done();
            },
          });
        },
        { events, reset: refusing.reset, snapshot: refusing.snapshot },
      ),
    );
    expect(report).toContain('2 of 11 interruptions');
    expect(report).toContain('the rightful owner was answered fenced(');
  });

  it('a record that is refused as bad when it comes again, although nothing is done twice', async () => {
    const report = await reportOf(
      tryHandle((sink) => async ({ offset, value }) => {
        if (await sink.incrementOnce(String(offset), text(value))) return done();
        throw new TidemarkError({ code: 'DUPLICATE', class: ErrorClass.data, message: 'duplicate key' });
      }),
    );
    expect(report).toContain('a bad record is made of record topic/0/0, record topic/0/1, record topic/0/2');
  });

  it('a batch that looks up what is there once and forgets its own repeats', async () => {
    const report = await reportOf(
      tryHandler((sink) => ({
        ...shape,
        async handleBatch(batch) {
          const known = await Promise.all(batch.map(({ offset }) => sink.hasSeen(String(offset))));
          for (const [place, { offset, value }] of batch.entries()) {
            if (known[place] === true) continue;
            await sink.increment(text(value));
            await sink.markSeen(String(offset));
          }
          return done();
        },
      })),
    );
    expect(report).toContain('each record comes twice in a row');
  });
});

describe('tells what makes a comparison impossible', () => {
  const right = (): Handle => async () => done();

  it('a handler that fails undisturbed, or answers nothing', async () => {
    const down = Object.assign(new Error('down'), { code: 'ECONNREFUSED' });
    expect(await reportOf(tryHandle(() => () => Promise.reject(down)))).toBe(
      'tried fails without any interruption: Error: down',
    );
    expect(await reportOf(tryHandle(() => (async () => undefined) as unknown as Handle))).toContain(
      'must return done()',
    );
    expect(await reportOf(tryHandle(() => () => fenced('9')))).toContain('it answered fenced(9) to the only owner');
  });

  it('a snapshot or steps that are never the same', async () => {
    let runs = 0;
    expect(await reportOf(tryHandle(right, { snapshot: () => ({ at: runs++ }) }))).toContain(
      'two undisturbed runs of tried differ',
    );
    let calls = 0;
    const unsteady = await reportOf(
      tryHandle((sink) => async () => {
        if (calls++ === 0) await sink.hasSeen('x');
        return done();
      }),
    );
    expect(unsteady).toContain('two undisturbed runs of tried differ');
  });

  it('steps that a later run does not make', async () => {
    let calls = 0;
    const report = await reportOf(
      tryHandle((sink) => async () => {
        if (calls++ < 2 * events.length) await sink.hasSeen('x');
        return done();
      }),
    );
    expect(report).toContain('it made fewer steps than without an interruption');
  });

  it('more boundaries than a test should have', async () => {
    const many = eventsOf(Array.from({ length: 700 }, () => Buffer.from('a')));
    expect(await reportOf(tryHandle(right, { events: many }))).toContain('give fewer events');
  });
});

describe('time', () => {
  afterEach(() => vi.useRealTimers());

  it('names a handler that hangs', async () => {
    vi.useFakeTimers();
    const report = reportOf(tryHandle(() => () => new Promise(() => undefined)));
    await vi.advanceTimersByTimeAsync(DEADLINE_MS);
    expect(await report).toBe(
      `tried fails without any interruption: Error: the chunk did not end within ${DEADLINE_MS} ms`,
    );
  });
});

describe('owners', () => {
  it('are opened and closed one by one, and a dead one loses its connections', async () => {
    const log: string[] = [];
    const session = {
      query: async (_text: string) => ({ rows: [] }),
      release: (broken?: Error) => void log.push(broken === undefined ? 'released' : broken.message),
    };
    const pool = { connect: async () => session, query: session.query };
    const { tried } = await interruptEverywhere(
      (probe) => {
        const sink = probe.pool(pool);
        return defineHandler({
          ...shape,
          open: async () => void log.push('open'),
          close: async () => void log.push('close'),
          async handle() {
            const connection = await sink.connect();
            await connection.query('select 1');
            connection.release();
            return done();
          },
        });
      },
      { events: events.slice(0, 1), reset: () => log.push('---'), snapshot: () => null },
    );
    const runs = log
      .join(' ')
      .split('--- ')
      .map((run) => run.trim());
    expect(runs.slice(1, 3)).toEqual(['open released close', 'open released close']);
    const runOf = (what: string): string | undefined => runs[3 + tried.indexOf(what)];
    const dead = 'the owner of this connection died';
    expect(runOf('the worker dies before step 1: connect')).toBe('open open released close close');
    expect(runOf('the worker dies after it did step 1: connect')).toBe(`open ${dead} open released close close`);
    expect(runOf('the worker dies after it did step 2: query select 1')).toBe(`open ${dead} open released close close`);
  });
});
