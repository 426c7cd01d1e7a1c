/** The worker on the in-memory log and store: what is awkward to bring about with real services. */
import type { CursorStore } from '@tidemark/cursors';
import { defineHandler, done, fenced } from '@tidemark/handlers';
import { TidemarkError, toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { altered } from './testing/altered-store.ts';
import { memoryBench } from './testing/memory-worker.ts';
import { numbers, recordingHandler } from './testing/recording-handler.ts';

const texts = (count: number): string[] => numbers(0, count - 1).map(String);
const down = (dependency: string) =>
  new TidemarkError({ code: 'DOWN', class: 'unavailable', message: `${dependency} is down`, context: { dependency } });

it('waits while the log cannot be read, and loses nothing', async () => {
  const bench = memoryBench();
  bench.cluster.createTopic('t');
  await bench.append('t', texts(20));
  for (let failure = 0; failure < 5; failure++) bench.cluster.faults.failNext('read', down('kafka'));
  const { handler, offsets } = recordingHandler();
  const job = await bench.install({ topic: 't', handler: handler.name });
  await bench.work([handler]);
  expect(await job.closed()).toMatchObject([
    { status: 'done', cursor: 19n, note: '', counters: { ok: 20n, deadLettered: 0n, maybeRedelivered: 0n } },
  ]);
  expect(offsets()).toEqual(numbers(0, 19));
});

it('P6: a dependency that is down costs no attempt and no dead letter, and says what it waits for', async () => {
  const bench = memoryBench();
  bench.cluster.createTopic('t');
  await bench.append('t', texts(20));
  let failures = 0;
  const notes = new Set<string>();
  const { handler, offsets } = recordingHandler(async (event) => {
    if (event.offset !== 12n || failures === 4) return done();
    failures += 1;
    notes.add((await job.ranges())[0]?.note ?? '');
    throw down('postgres');
  });
  const job = await bench.install({ topic: 't', handler: handler.name, attempts: 1 });
  await bench.work([handler]);
  expect(await job.closed()).toMatchObject([
    { cursor: 19n, note: '', counters: { ok: 20n, retries: 0n, deadLettered: 0n } },
  ]);
  expect(notes).toEqual(new Set(['', 'waiting: breaker postgres']));
  // What was settled before the outage is not handed over again.
  expect(offsets().filter((offset) => offset !== 12)).toEqual(numbers(0, 19).filter((offset) => offset !== 12));
});

it('F5: keeps the cursor before a record whose dead letter is refused, and passes it when that is over', async () => {
  const bench = memoryBench();
  bench.cluster.createTopic('t');
  await bench.append('t', texts(5));
  for (let failure = 0; failure < 3; failure++) bench.cluster.faults.failNext('append', down('kafka'));
  let cursorAtRetry: bigint | undefined;
  let calls = 0;
  const { handler } = recordingHandler(async (event) => {
    if (event.offset !== 3n) return done();
    if (++calls === 3) cursorAtRetry = (await job.ranges())[0]?.cursor;
    throw new TidemarkError({ code: 'BAD', class: 'data', message: 'bad record' });
  });
  const job = await bench.install({ topic: 't', handler: handler.name });
  await bench.work([handler]);
  expect(await job.closed()).toMatchObject([{ cursor: 4n, counters: { ok: 4n, deadLettered: 1n } }]);
  expect(cursorAtRetry).toBe(2n);
  const letters = await bench.cluster.catalog.describe('t.dlq');
  expect(letters).toMatchObject({ partitionCount: 1 });
});

it('drops records above an end that was lowered while they were read', async () => {
  const bench = memoryBench();
  bench.cluster.createTopic('t');
  await bench.append('t', texts(10));
  const { handler, offsets } = recordingHandler();
  const job = await bench.install({ topic: 't', handler: handler.name });
  const lowered: Partial<CursorStore> = {
    claim: async (request) => {
      const answer = await bench.store.claim({ ...request, upTo: toOffset(5) });
      return answer.kind === 'claimed' ? { ...answer, end: toOffset(5) } : answer;
    },
    advance: async (request) => {
      const answer = await bench.store.advance(request);
      return answer.kind === 'advanced' ? { ...answer, done: true } : answer;
    },
  };
  const worker = await bench.work([handler], { store: altered(bench.store, lowered) });
  while ((await job.ranges())[0]?.cursor !== 5n) await new Promise((resolve) => setImmediate(resolve));
  await worker.stop('seen enough');
  expect(offsets()).toEqual([0, 1, 2, 3, 4, 5]);
});

it('lets the range go when the sink fences it out, and comes back with a younger token', async () => {
  const bench = memoryBench();
  bench.cluster.createTopic('t');
  await bench.append('t', texts(5));
  const tokens: string[] = [];
  const { handler } = recordingHandler((_event, { token }) => {
    if (tokens.at(-1) !== token) tokens.push(token);
    return tokens.length === 1 ? fenced('a younger one') : done();
  });
  const job = await bench.install({ topic: 't', handler: handler.name });
  await bench.work([handler]);
  expect(await job.closed()).toMatchObject([{ cursor: 4n, counters: { ok: 5n } }]);
  expect(tokens).toHaveLength(2);
  expect((tokens[0] ?? '') < (tokens[1] ?? '')).toBe(true);
});

it('leaves a range alone for longer and longer while its sink refuses every token, and says which one it saw', async () => {
  const bench = memoryBench();
  bench.cluster.createTopic('t');
  await bench.append('t', texts(5));
  const releases: { readonly delayMs: number; readonly note: string }[] = [];
  const { handler } = recordingHandler(() => (releases.length < 10 ? fenced('9:9') : done()));
  const job = await bench.install({ topic: 't', handler: handler.name });
  const patient: Partial<CursorStore> = {
    release: (request) => {
      releases.push({ delayMs: request.delayMs, note: request.note });
      return bench.store.release({ ...request, delayMs: 0 });
    },
  };
  await bench.work([handler], { store: altered(bench.store, patient) });
  expect(await job.closed()).toMatchObject([{ cursor: 4n, note: '', counters: { ok: 5n } }]);
  expect(releases.map(({ delayMs }) => delayMs)).toEqual([
    200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000,
  ]);
  expect(new Set(releases.map(({ note }) => note))).toEqual(new Set(['fenced: the sink has seen 9:9']));
});

it('a job whose every batch outlasts the lease goes on, and hands nothing over twice', async () => {
  const bench = memoryBench();
  bench.cluster.createTopic('t');
  await bench.append('t', texts(30));
  const now = { monotonicMs: 0, wallMs: 0 };
  const leaseTtlMs = 60_000;
  const handed: number[] = [];
  const handler = defineHandler({
    name: 'busy',
    input: 'raw',
    idempotent: true,
    handleBatch: (events) => {
      handed.push(...events.map(({ offset }) => Number(offset)));
      now.monotonicMs += 2 * leaseTtlMs;
      now.wallMs += 2 * leaseTtlMs;
      return done();
    },
  });
  const job = await bench.install({ topic: 't', handler: 'busy', chunkRecords: 10 });
  await bench.work([handler], { leaseTtlMs, clock: { now: () => ({ ...now }) } });
  expect(await job.closed()).toMatchObject([{ status: 'done', counters: { ok: 30n, maybeRedelivered: 0n } }]);
  expect(handed).toEqual(numbers(0, 29));
});

it('stops by name for a topic that is another one now, and for a log that went back', async () => {
  const bench = memoryBench();
  bench.cluster.createTopic('recreated');
  bench.cluster.createTopic('shorter');
  await bench.append('recreated', texts(10));
  await bench.append('shorter', texts(10));
  const { handler } = recordingHandler();
  const recreated = await bench.install({ topic: 'recreated', handler: handler.name });
  const shorter = await bench.install({ topic: 'shorter', handler: handler.name, start: () => 7n });
  bench.cluster.recreateTopic('recreated');
  bench.cluster.truncate('shorter', 0, 6n);
  await bench.work([handler]);
  expect(await recreated.closed()).toMatchObject([
    { status: 'stopped', note: expect.stringMatching(/^TOPIC_RECREATED/) },
  ]);
  expect(await shorter.closed()).toMatchObject([
    { status: 'stopped', note: expect.stringMatching(/^LOG_TRUNCATED: the log ends at 6/), cursor: 7n },
  ]);
});

it('settles a window of nothing but holes', async () => {
  const bench = memoryBench();
  bench.cluster.createTopic('t');
  const transaction = bench.cluster.begin();
  transaction.append([{ topic: 't', partition: 0, key: null, value: Buffer.from('x') }]);
  transaction.abort();
  const { handler, offsets } = recordingHandler();
  const job = await bench.install({ topic: 't', handler: handler.name });
  await bench.work([handler]);
  expect(await job.closed()).toMatchObject([{ status: 'done', cursor: 1n, counters: { ok: 0n, markers: 2n } }]);
  expect(offsets()).toEqual([]);
});

it('gives a range back after its time slice, so that another job has its turn', async () => {
  const bench = memoryBench();
  bench.cluster.createTopic('t');
  await bench.append('t', texts(30));
  const order: string[] = [];
  const handler = defineHandler({
    name: 'turns',
    input: 'raw',
    idempotent: true,
    handleBatch: (_events, { jobId }) => {
      order.push(jobId);
      return done();
    },
  });
  const jobs = [
    await bench.install({ topic: 't', handler: 'turns', jobId: 'a', chunkRecords: 10 }),
    await bench.install({ topic: 't', handler: 'turns', jobId: 'b', chunkRecords: 10 }),
  ];
  let nowMs = 0;
  // Every look at the clock takes a millisecond; after a few of them the slice is over.
  const clock = { now: () => ({ monotonicMs: ++nowMs, wallMs: nowMs }) };
  await bench.work([handler], { timeSliceMs: 5, leaseTtlMs: 600_000, clock });
  for (const job of jobs) expect(await job.closed()).toMatchObject([{ counters: { ok: 30n, maybeRedelivered: 0n } }]);
  const turns = order.filter((jobId, place) => jobId !== order[place - 1]);
  expect(turns.length).toBeGreaterThan(2);
});

it('ends when a slot meets a bug: the process must not go on', async () => {
  const bench = memoryBench();
  bench.cluster.createTopic('t');
  await bench.append('t', texts(5));
  const { handler } = recordingHandler();
  await bench.install({ topic: 't', handler: handler.name });
  const broken = altered(bench.store, {
    advance: async () => ({ kind: 'out of bounds', horizon: toOffset(0), end: toOffset(0) }),
  });
  const worker = await bench.work([handler], { store: broken });
  await expect(worker.ended).rejects.toMatchObject({ code: 'ADVANCE_OUT_OF_BOUNDS', class: 'bug' });
});

it('announces itself, its handlers and slots, and stops idempotently', async () => {
  const bench = memoryBench();
  const { handler } = recordingHandler();
  const worker = await bench.work([handler], { workerId: 'w-1', slots: 2 });
  expect(worker.state).toEqual({ phase: 'running', workerId: 'w-1', slots: [{ slot: 'w-1/0' }, { slot: 'w-1/1' }] });
  expect((await bench.schedule.workers()).workers).toMatchObject([
    { workerId: 'w-1', handlers: [{ name: 'recording', idempotent: true }], slots: 2 },
  ]);
  await Promise.all([worker.stop('first'), worker.stop('second')]);
  expect(worker.state.phase).toBe('stopped');
  await expect(worker.ended).resolves.toBeUndefined();
});
