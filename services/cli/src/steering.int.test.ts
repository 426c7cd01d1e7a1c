/** Orders through the command line, with a distributor and a worker of their own: what the job does, and what is told of it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createTopic,
  environmentOf,
  produce,
  type SpawnedProgram,
  uniqueName,
  uniqueNamespace,
  waitFor,
} from '@tidemark/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServices } from './testing/served.ts';
import { type CliRun, cli } from './testing/test-terminal.ts';

const HANDLERS = new URL('./testing/steered-handlers.ts', import.meta.url).pathname;
const RECORDS = 12;
/** The deadline of the distributor for chunks in flight is 30 s: whoever takes less has not waited for them. */
const AT_ONCE_MS = 29_500;
/** In seconds: for what is to come, on a loaded machine. */
const PATIENCE = '120';

let env: ReturnType<typeof environmentOf>;
let topic: string;
let programs: readonly SpawnedProgram[];
const gates = mkdtempSync(join(tmpdir(), 'tidemark-gates-'));

const gateOf = (id: string): string => join(gates, id);
const open = (id: string): void => writeFileSync(gateOf(id), '');
const run = (...args: readonly string[]): Promise<CliRun> => cli(args, env);
const submit = (id: string, handler: string, ...more: readonly string[]): Promise<CliRun> =>
  run('job', 'submit', '--topic', topic, '--handler', handler, '--id', id, '--param', `gate=${gateOf(id)}`, ...more);
const parsed = (result: CliRun): Record<string, unknown> =>
  JSON.parse(result.out.at(-1) ?? 'null') as Record<string, unknown>;

interface Shown {
  readonly state: string;
  readonly counters: { readonly parked: string; readonly ok: string };
  readonly waiting: { readonly kind: string } | null;
  readonly ranges: readonly {
    readonly owner: string;
    readonly cursor: string;
    readonly waiting: { kind: string } | null;
  }[];
}

async function shown(id: string): Promise<Shown> {
  return parsed(await run('job', 'show', id, '-o', 'json')) as unknown as Shown;
}

async function heldRanges(id: string, count: number): Promise<void> {
  await waitFor(`${count} ranges of ${id} to be held`, async () => {
    const { ranges } = await shown(id);
    return ranges.filter(({ owner }) => owner !== '').length === count;
  });
}

beforeAll(async () => {
  env = environmentOf(uniqueNamespace('cli'));
  topic = await createTopic(uniqueName('cli'), { partitions: 2 });
  for (const partition of [0, 1])
    await produce(
      topic,
      Array.from({ length: RECORDS }, (_, n) => ({ value: n === 3 ? `bad ${n}` : `good ${n}` })),
      { partition },
    );
  programs = startServices(env, { TIDEMARK_HANDLERS: HANDLERS, TIDEMARK_SLOTS: '8' });
  for (const program of programs) await program.logged('program.started');
  await waitFor(
    'a worker that announces its handlers',
    async () => (await submit('look', 'gated', '--dry-run')).exitCode === 0,
    { timeoutMs: 60_000 },
  );
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.kill('SIGKILL')));
});

it('pause settles the chunks in flight, then nobody holds a range; resume goes on to the end', async () => {
  await submit('rests', 'gated', '--chunk', '4');
  await heldRanges('rests', 2);
  const pausing = run('job', 'pause', 'rests', '--deadline', '300', '--reason', 'lunch', '-o', 'json');
  await waitFor('the job to be PAUSING', async () => (await shown('rests')).state === 'PAUSING');
  expect(await shown('rests')).toMatchObject({ waiting: { kind: 'chunks in flight' } });
  open('rests');
  const paused = await pausing;
  expect(parsed(paused)).toMatchObject({ order: 'pause', result: 'applied', state: 'PAUSED', reason: 'lunch' });
  expect(paused.exitCode).toBe(0);
  const { ranges, counters, waiting } = await shown('rests');
  expect(waiting).toMatchObject({ kind: 'person', reason: 'a person: lunch' });
  expect(ranges.map(({ owner }) => owner)).toEqual(['', '']);
  // The two chunks that were in flight, and no further one.
  expect(counters.ok).toBe('8');

  const again = await run('job', 'pause', 'rests');
  expect([again.exitCode, again.out.join('')]).toEqual([0, expect.stringMatching(/PAUSED \(lunch\) already/)]);
  expect((await run('job', 'wait', 'rests')).exitCode).toBe(1);
  expect((await run('job', 'resume', 'rests')).out.join('')).toMatch(/^rests {2}(RUNNING|COMPLETED)/);
  const ended = await run('job', 'wait', 'rests', '--timeout', PATIENCE, '-o', 'json');
  expect(parsed(ended)).toMatchObject({ state: 'COMPLETED', totals: { ok: String(2 * RECORDS) } });
  const late = await run('job', 'pause', 'rests');
  expect([late.exitCode, late.notes.join('')]).toEqual([5, expect.stringMatching(/COMPLETED \(clean\): it is over/)]);
});

it('cancel --force does not wait for a handler that hangs, pause gives it as long as it was told', async () => {
  await submit('hangs', 'gated');
  await heldRanges('hangs', 2);
  const paused = await run('job', 'pause', 'hangs', '--deadline', '0.5', '-o', 'json');
  expect(parsed(paused)).toMatchObject({ result: 'applied', state: 'PAUSED' });
  await run('job', 'resume', 'hangs');
  await heldRanges('hangs', 2);
  const startedMs = performance.now();
  const cancelled = await run('job', 'cancel', 'hangs', '--force', '--yes', '--reason', 'stuck', '-o', 'json');
  expect(performance.now() - startedMs).toBeLessThan(AT_ONCE_MS);
  expect(parsed(cancelled)).toMatchObject({ result: 'applied', state: 'CANCELLED', reason: 'stuck' });
});

it('kill --all pauses every job that runs, and each can be resumed', async () => {
  const ids = ['all-1', 'all-2', 'all-3'];
  for (const id of ids) await submit(id, 'gated');
  await run('series', 'create', 'hourly', '--topic', topic, '--handler', 'gated', '--every', '1h');
  const refused = await run('job', 'kill', '--all');
  expect([refused.exitCode, refused.notes.join('')]).toEqual([2, expect.stringMatching(/--yes says that it is meant/)]);
  const dry = await run('job', 'kill', '--all', '--dry-run');
  expect(dry.out[0]).toBe('would kill 3 jobs and stop 1 series; nothing was changed');
  const startedMs = performance.now();
  const killed = await run('job', 'kill', '--all', '--yes', '--reason', 'bad deploy', '-o', 'json');
  expect(performance.now() - startedMs).toBeLessThan(AT_ONCE_MS);
  expect(killed.exitCode).toBe(0);
  const { result, jobs, series } = parsed(killed) as {
    result: string;
    series: object[];
    jobs: { jobId: string; state: string; reason: string }[];
  };
  expect(result).toBe('applied');
  expect(jobs.map(({ jobId }) => jobId).sort()).toEqual(ids);
  for (const job of jobs) expect(job).toMatchObject({ state: 'PAUSED', reason: 'killed: bad deploy' });
  expect(series).toMatchObject([{ series: 'hourly', status: 'STOPPED', reason: 'killed: bad deploy' }]);
  const resumed = await run('series', 'resume', 'hourly', '--yes');
  expect([resumed.exitCode, resumed.out]).toEqual([0, ['hourly  ACTIVE again']]);
  open('all-2');
  expect((await run('job', 'resume', 'all-2')).exitCode).toBe(0);
  expect((await run('job', 'wait', 'all-2', '--timeout', PATIENCE)).exitCode).toBe(0);
});

it('a job that used up its budget goes on only with more', async () => {
  open('spends');
  await submit('spends', 'gated', '--rate', '4', '--max-chunks', '3');
  const suspended = await run('job', 'wait', 'spends', '--timeout', PATIENCE);
  expect([suspended.exitCode, suspended.out.join('')]).toEqual([
    1,
    expect.stringMatching(/SUSPENDED \(budget: \d+ chunks/),
  ]);
  const stuck = await run('job', 'resume', 'spends');
  expect([stuck.exitCode, stuck.notes.join('')]).toEqual([
    5,
    expect.stringMatching(/suspended again at once .*"tidemark job resume spends --max-chunks N"/),
  ]);
  expect((await run('job', 'resume', 'spends', '--max-chunks', '1')).exitCode).toBe(5);
  rmSync(gateOf('spends')); // so that it does not end before it is watched
  expect((await run('job', 'resume', 'spends', '--max-chunks', '100')).exitCode).toBe(0);
  const watched = await cli(['job', 'watch', 'spends'], env, { onOut: () => open('spends') });
  expect(watched.exitCode).toBe(0);
  expect(watched.out[0]).toMatch(/^RUNNING +\d+ % +\d+ of 24 offsets/);
  expect(watched.out.join('\n')).toMatch(/used .* of 100 chunks/);
});

it('says who waits for what: a permit, a handler, parked records', async () => {
  await submit('narrow', 'gated', '--concurrency', '1');
  await heldRanges('narrow', 1);
  await waitFor('the other range to be told to wait for a permit', async () =>
    (await shown('narrow')).ranges.some(({ waiting }) => waiting?.kind === 'permit'),
  );
  expect((await shown('narrow')).waiting).toBeNull();

  await submit('nobody', 'not-loaded', '--allow-unknown-handler');
  const listed = await run('job', 'list');
  expect(listed.out.find((line) => line.startsWith('nobody'))).toMatch(/a worker with the handler not-loaded/);

  await submit('later', 'failing', '--attempts', '50');
  await waitFor('both bad records to be parked', async () => (await shown('later')).counters.parked === '2');
  const lines = (await run('job', 'show', 'later')).out.join('\n');
  expect(lines).toMatch(/parked +2 records wait for another attempt/);
  // Partition 0 is passed to its end, and settled up to the record before the parked one.
  expect(lines).toMatch(/^ +0 +-1 +11 +12 +2$/m);
  open('later');
  expect((await run('job', 'wait', 'later', '--timeout', PATIENCE)).exitCode).toBe(0);
});

it('lists jobs while the cursor store is down, and says what is left out', async () => {
  const listed = await cli(['job', 'list'], { ...env, TIDEMARK_REDIS: 'redis://127.0.0.1:1' });
  expect(listed.exitCode).toBe(0);
  expect(listed.out.length).toBeGreaterThan(1);
  expect(listed.notes).toEqual([expect.stringMatching(/is not known: Redis at 127.0.0.1:1 .* does not answer/)]);
});
