/** Workers as processes: what crashes, zombies and shutdowns leave behind. */
import { encodeDefinition } from '@tidemark/jobs';
import { createTopic, produce, services, uniqueName, waitFor } from '@tidemark/testkit';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { endLease } from './testing/end-lease.ts';
import type { InstalledJob } from './testing/install-job.ts';
import { type RealBench, realBench } from './testing/real-worker.ts';
import { numbers } from './testing/recording-handler.ts';

interface Effect {
  readonly pid: number;
  readonly partition: number;
  readonly offset: number;
  readonly token: string;
  /** Records that were handed over in one call. */
  readonly together: number;
}

/** A topic of one partition, a bench, and a sink that remembers every effect. */
async function setUp(count: number) {
  const bench = await realBench();
  const topic = await createTopic(uniqueName('process'));
  await produce(
    topic,
    numbers(0, count - 1).map((value) => ({ value: String(value) })),
  );
  const redis = new Redis(services().redis);
  const list = uniqueName('effects');
  onTestFinished(async () => {
    await redis.del(list);
    await redis.quit();
  });
  const effects = async (): Promise<Effect[]> =>
    (await redis.lrange(list, 0, -1)).map((text) => JSON.parse(text) as Effect);
  const parameters = { redis: services().redis, list };
  const cursor = async (job: InstalledJob): Promise<number> => Number((await job.ranges())[0]?.cursor ?? -2n);
  return {
    bench,
    topic,
    parameters,
    effects,
    cursor,
    offsets: async (): Promise<number[]> => (await effects()).map(({ offset }) => offset),
    spawn: bench.spawn,
  };
}

/** Enlists the same job again, for handlers that are given other parameters: without the record that never ends, or with another. */
async function enlistAgain(
  bench: RealBench,
  job: InstalledJob,
  parameters: Readonly<Record<string, string>>,
): Promise<void> {
  const { formatVersion: _, ...definition } = { ...job.definition, parameters };
  await bench.schedule.withdraw(job.jobId);
  await bench.schedule.enlist({ jobId: job.jobId, definition: encodeDefinition(definition), priority: 0 });
}

function repeats(offsets: readonly number[]): number {
  return offsets.length - new Set(offsets).size;
}

/** What a machine with two cores and much else to do may take on top. */
const BUSY_MACHINE_MS = 8_000;
/** Of a test with many lives: such a machine may take 20 s to start each. */
const MANY_LIVES_MS = 600_000;

it('A6: killed after the second commit, a range resumes inside the batch', async () => {
  const test = await setUp(10);
  const job = await test.bench.install({
    topic: test.topic,
    handler: 'sink',
    parameters: { ...test.parameters, stuckOffset: '4' },
    chunkRecords: 2,
  });
  const first = test.spawn();
  await waitFor('two commits', async () => (await test.cursor(job)) === 3);
  await first.kill('SIGKILL');
  await enlistAgain(test.bench, job, test.parameters);
  await endLease(test.bench.store, job);
  const second = test.spawn();
  await job.closed();
  await second.kill('SIGTERM');
  const effects = await test.effects();
  expect(effects.filter(({ pid }) => pid === second.pid).map(({ offset }) => offset)).toEqual([4, 5, 6, 7, 8, 9]);
});

it('F1: the cursor does not pass the record that is not settled, and what was done ahead is delivered again', async () => {
  const test = await setUp(20);
  // The last one below the stuck one ends when all others have, so that the move to it leaves them ahead.
  const stuck = { ...test.parameters, stuckOffset: '5', lastOffset: '4', lastAfter: '18' };
  const job = await test.bench.install({
    topic: test.topic,
    handler: 'sink-of-eight',
    parameters: stuck,
    chunkRecords: 20,
  });
  const first = test.spawn();
  await waitFor('all others are done', async () => (await test.offsets()).length === 19);
  await waitFor('the partial advance', async () => (await test.cursor(job)) === 4);
  const advanced = await waitFor('its line', () =>
    first.log().findLast(({ msg, to }) => msg === 'chunk.advanced' && to === '4'),
  );
  expect(advanced).toMatchObject({ doneAhead: 14 });
  await first.kill('SIGKILL');
  expect(await test.cursor(job)).toBe(4);
  await enlistAgain(test.bench, job, test.parameters);
  await endLease(test.bench.store, job);
  const second = test.spawn();
  const ranges = await job.closed();
  await second.kill('SIGTERM');
  const again = (await test.effects()).filter(({ pid }) => pid === second.pid).map(({ offset }) => offset);
  expect([...again].sort((a, b) => a - b)).toEqual(numbers(5, 19));
  expect(ranges).toMatchObject([{ cursor: 19n, counters: { ok: 20n, maybeRedelivered: 15n } }]);
});

it('F3: SIGTERM in the middle of a chunk ends with exit 0, the settled prefix, and the lease given back; again and again', {
  timeout: MANY_LIVES_MS,
}, async () => {
  // More than are handled until the last signal, however late a busy machine sends it.
  const test = await setUp(5_000);
  const parameters = { ...test.parameters, delayMs: '100' };
  const job = await test.bench.install({ topic: test.topic, handler: 'sink', parameters, chunkRecords: 10 });
  const ROUNDS = 15;
  let cursor = -1;
  const exitsMs: number[] = [];
  for (let round = 1; round <= ROUNDS; round++) {
    const before = (await test.offsets()).length;
    // The record in hand has time to finish, also on a machine that stands still for a while.
    const worker = test.spawn({ TIDEMARK_STOP_GRACE_MS: '20000' });
    await worker.logged('program.started');
    // Far below the lease, so the one before must have given it back.
    await waitFor('an effect of this round', async () => (await test.offsets()).length > before);
    const toldAtMs = performance.now();
    worker.signal('SIGTERM');
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    exitsMs.push(performance.now() - toldAtMs);
    const offsets = await test.offsets();
    const now = await test.cursor(job);
    expect(now).toBe(offsets.at(-1));
    expect(now).toBeGreaterThan(cursor);
    expect(await job.ranges()).toMatchObject([{ owner: '' }]);
    cursor = now;
  }
  // Most of them: a machine that stands still may hold up any one.
  const exitMs = exitsMs.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)];
  expect(exitMs).toBeLessThan(5_000 + BUSY_MACHINE_MS);
  expect(cursor).toBeGreaterThanOrEqual(ROUNDS - 1);
  expect(await test.offsets()).toEqual(numbers(0, cursor));
  expect((await job.ranges())[0]?.counters.maybeRedelivered).toBe(0n);
});

it('P4: five SIGKILLs of a worker lose nothing and repeat at most one chunk each', {
  timeout: MANY_LIVES_MS,
}, async () => {
  const test = await setUp(2_000);
  const chunkRecords = 20;
  const parameters = { ...test.parameters, delayMs: '1' };
  // No life goes further than this, however late its kill comes.
  const upTo = (life: number) => ({ ...parameters, stuckOffset: String(life * 300) });
  const job = await test.bench.install({ topic: test.topic, handler: 'sink', parameters: upTo(1), chunkRecords });
  for (let kill = 1; kill <= 5; kill++) {
    const before = (await test.offsets()).length;
    const worker = test.spawn();
    await waitFor('work of this life', async () => (await test.offsets()).length > before + 47);
    await worker.kill('SIGKILL');
    await enlistAgain(test.bench, job, kill < 5 ? upTo(kill + 1) : parameters);
    await endLease(test.bench.store, job);
  }
  const last = test.spawn();
  const ranges = await job.closed(120_000);
  await last.kill('SIGTERM');
  const offsets = await test.offsets();
  expect(new Set(offsets)).toEqual(new Set(numbers(0, 1_999)));
  expect(repeats(offsets)).toBeLessThanOrEqual(5 * chunkRecords);
  expect(ranges).toMatchObject([{ cursor: 1_999n, counters: { ok: 2_000n } }]);
  expect(Number(ranges[0]?.counters.maybeRedelivered)).toBeLessThanOrEqual(5 * chunkRecords);
  expect(Number(ranges[0]?.counters.maybeRedelivered)).toBeGreaterThanOrEqual(repeats(offsets));
});

it('P4: SIGKILLs between parking and settling lose no parked record, and repeat at most a chunk and a batch each', {
  timeout: MANY_LIVES_MS,
}, async () => {
  const test = await setUp(300);
  const chunkRecords = 20;
  const parameters = { ...test.parameters, delayMs: '5', flakyUntil: '5' };
  // No life goes further than this, however late its kill comes: 44 of these 55 records are healthy.
  const upTo = (life: number) => ({ ...parameters, stuckOffset: String(life * 55) });
  const job = await test.bench.install({
    topic: test.topic,
    handler: 'sink',
    parameters: upTo(1),
    chunkRecords,
    attempts: 20,
  });
  let parkedMost = 0;
  for (let kill = 1; kill <= 4; kill++) {
    const before = (await test.offsets()).length;
    const worker = test.spawn();
    await waitFor('work of this life, and parked records', async () => {
      const parked = (await job.ranges())[0]?.parked.length ?? 0;
      parkedMost = Math.max(parkedMost, parked);
      return parked > 0 && (await test.offsets()).length > before + 40;
    });
    await worker.kill('SIGKILL');
    await enlistAgain(test.bench, job, kill < 4 ? upTo(kill + 1) : parameters);
    await endLease(test.bench.store, job);
  }
  const last = test.spawn();
  const ranges = await job.closed(120_000);
  await last.kill('SIGTERM');
  const offsets = await test.offsets();
  expect(parkedMost).toBeGreaterThan(0);
  expect(new Set(offsets)).toEqual(new Set(numbers(0, 299)));
  expect(ranges).toMatchObject([{ status: 'done', cursor: 299n, parked: [], counters: { ok: 300n, parked: 0n } }]);
  // Every fifth record is a parked one, and a batch is all that are due.
  expect(repeats(offsets)).toBeLessThanOrEqual(4 * (chunkRecords + 60));
  expect(Number(ranges[0]?.counters.maybeRedelivered)).toBeGreaterThanOrEqual(repeats(offsets));
});

it('E8: a worker that was stopped in mid-chunk past its lease does nothing more when it wakes', async () => {
  const test = await setUp(100);
  const parameters = { ...test.parameters, delayMs: '50' };
  // The first one does not come to the end before it is stopped, however late that is.
  const stuck = { ...parameters, stuckOffset: '60' };
  const job = await test.bench.install({ topic: test.topic, handler: 'sink', parameters: stuck, chunkRecords: 10 });
  const undead = test.spawn({ TIDEMARK_LEASE_TTL_MS: '5000' });
  await waitFor('work of the first', async () => (await test.offsets()).length >= 3);
  undead.signal('SIGSTOP');
  const stoppedToken = (await job.ranges())[0]?.token ?? '';
  await enlistAgain(test.bench, job, parameters);
  const heir = test.spawn();
  await waitFor('work of the heir', async () => (await test.effects()).some(({ pid }) => pid === heir.pid));
  /** Of the leases that it had until it was stopped: later it may work for the job again as anybody may. */
  const byUndead = (effects: readonly Effect[]): number =>
    effects.filter(({ pid, token }) => pid === undead.pid && token <= stoppedToken).length;
  const before = byUndead(await test.effects());
  undead.signal('SIGCONT');
  expect(await undead.logged('range.let_go')).toMatchObject({ reason: 'not trusted' });
  const ranges = await job.closed();
  for (const worker of [undead, heir]) {
    worker.signal('SIGTERM');
    expect(await worker.exit).toEqual({ code: 0, signal: null });
  }
  const effects = await test.effects();
  // The call that was on its way when it was stopped may end; no further record was started.
  expect(byUndead(effects)).toBeLessThanOrEqual(before + 1);
  expect(new Set(effects.map(({ offset }) => offset))).toEqual(new Set(numbers(0, 99)));
  expect(ranges).toMatchObject([{ cursor: 99n, counters: { ok: 100n } }]);
  const tokens = [undead, heir].map(({ pid }) => effects.find((effect) => effect.pid === pid)?.token ?? '');
  expect((tokens[0] ?? '') < (tokens[1] ?? '')).toBe(true);
});

it('E8: the range of a worker that was killed is taken over when the lease is over', async () => {
  const test = await setUp(40);
  const parameters = { ...test.parameters, stuckOffset: '3' };
  const job = await test.bench.install({ topic: test.topic, handler: 'sink', parameters, chunkRecords: 10 });
  const dead = test.spawn({ TIDEMARK_LEASE_TTL_MS: '5000' });
  await waitFor('work of the first', async () => new Set(await test.offsets()).size === 3);
  const heir = test.spawn();
  await heir.logged('program.started');
  await dead.kill('SIGKILL');
  await waitFor('the heir owns it', async () => (await job.ranges())[0]?.owner.includes(`-${heir.pid}-`));
  await heir.kill('SIGTERM');
});

it.each([1, 2])(
  'a batch that blocks the event loop beyond the lease does not keep its job from ending, on %i workers',
  async (count) => {
    const test = await setUp(20);
    const parameters = { ...test.parameters, blockMs: '250' };
    const job = await test.bench.install({ topic: test.topic, handler: 'blocking', parameters, chunkRecords: 10 });
    const workers = numbers(1, count).map(() => test.spawn({ TIDEMARK_LEASE_TTL_MS: '1000', TIDEMARK_SLOTS: '1' }));
    const ranges = await job.closed(120_000);
    expect(ranges).toMatchObject([{ status: 'done', cursor: 19n, counters: { ok: 20n } }]);
    await waitFor('the last effects', async () => new Set(await test.offsets()).size === 20);
    for (const worker of workers) await worker.kill('SIGTERM');
    const effects = await test.effects();
    expect(new Set(effects.map(({ offset }) => offset))).toEqual(new Set(numbers(0, 19)));
    const warnings = workers.flatMap((worker) =>
      worker.log().filter(({ msg }) => msg === 'handler.blocked_event_loop'),
    );
    expect(warnings).toContainEqual(expect.objectContaining({ handler: 'blocking', leaseTtlMs: 1_000, records: 10 }));
    // Alone it repeats nothing; two may take the range from each other until both know how much is too much, each by one call.
    if (count === 1) expect(repeats(effects.map(({ offset }) => offset))).toBe(0);
    for (const { pid } of workers)
      expect(effects.filter((effect) => effect.pid === pid && effect.together > 1).length).toBeLessThanOrEqual(10);
  },
);

it('ends with one line and exit code 2 for a handler module that does not load', async () => {
  const bench = await realBench();
  const worker = bench.spawn({ TIDEMARK_HANDLERS: './no/such/file.ts' });
  expect(await worker.exit).toEqual({ code: 2, signal: null });
  expect(worker.stderr()).toMatch(/^tidemark worker: handler module \.\/no\/such\/file\.ts: no such file.*\n$/);
});

it('ends with one line and exit code 6 when Redis is not there, naming the address', async () => {
  const bench = await realBench();
  const worker = bench.spawn({ TIDEMARK_REDIS: 'redis://127.0.0.1:1' });
  expect(await worker.exit).toEqual({ code: 6, signal: null });
  expect(worker.stderr()).toMatch(/^tidemark worker: .*127\.0\.0\.1:1.*\n$/);
});
