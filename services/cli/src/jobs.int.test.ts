/** Jobs through the command line on real services, with a distributor and a worker of their own. */
import {
  createTopic,
  deleteRecordsBefore,
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

/** In seconds: for what is to come, on a loaded machine. */
const PATIENCE = '120';

const HANDLERS = new URL('./testing/faulty-handlers.ts', import.meta.url).pathname;

let env: ReturnType<typeof environmentOf>;
let topic: string;
let programs: readonly SpawnedProgram[];

const run = (...args: readonly string[]): Promise<CliRun> => cli(args, env);
const submit = (id: string, handler: string, ...more: readonly string[]): Promise<CliRun> =>
  run('job', 'submit', '--topic', topic, '--handler', handler, '--id', id, ...more);
const parsed = (result: CliRun): Record<string, unknown> =>
  JSON.parse(result.out.at(-1) ?? 'null') as Record<string, unknown>;

beforeAll(async () => {
  env = environmentOf(uniqueNamespace('cli'));
  topic = await createTopic(uniqueName('cli'), { partitions: 2 });
  await produce(topic, [
    { key: 'a', value: 'good' },
    { key: null, value: 'bad apple' },
    { key: '', value: null },
    { key: Buffer.from([0, 255, 254]), value: 'null' },
  ]);
  programs = startServices(env, { TIDEMARK_HANDLERS: HANDLERS });
  for (const program of programs) await program.logged('program.started');
  await waitFor(
    'a worker that announces its handlers',
    async () => (await submit('look', 'picky', '--dry-run')).exitCode === 0,
    { timeoutMs: 60_000 },
  );
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.kill('SIGTERM')));
});

it('submits, tells the pinned window with 64-bit numbers as strings, and waits for the end', async () => {
  const submitted = await submit('first', 'count', '-o', 'json');
  expect(submitted.exitCode).toBe(0);
  expect(parsed(submitted)).toMatchObject({
    jobId: 'first',
    created: true,
    pin: {
      partitions: [
        { partition: 0, start: '-1', end: '3' },
        { partition: 1, start: '-1', end: '-1' },
      ],
    },
  });
  const waited = await run('job', 'wait', 'first', '--timeout', PATIENCE, '-o', 'json');
  expect(waited.exitCode).toBe(0);
  expect(parsed(waited)).toMatchObject({
    state: 'COMPLETED',
    reason: 'clean',
    totals: { ok: '4', skipped: '0', lost: '0' },
  });
});

it('shows a finished job with the ranges of its checkpoints, whose numbers add up', async () => {
  await submit('shown', 'count');
  await run('job', 'wait', 'shown', '--timeout', PATIENCE);
  const shown = parsed(await run('job', 'show', 'shown', '-o', 'json'));
  expect(shown).toMatchObject({
    state: 'COMPLETED',
    progress: { percent: 100 },
    ranges: [{ partition: 0, start: '-1', cursor: '3', end: '3', status: 'done', counters: { ok: '4' } }],
  });
  const lines = (await run('job', 'show', 'shown')).out;
  expect(lines.join('\n')).toMatch(/progress +100 % +4 of 4 offsets/);
  expect(lines.join('\n')).toMatch(/0:-1 +3 +3 +done +4 .* yes/);
});

it('A5: watches a job without records to its end, 100 % and no NaN anywhere', async () => {
  const empty = await createTopic(uniqueName('cli-empty'));
  expect((await run('job', 'submit', '--topic', empty, '--handler', 'count', '--id', 'nothing')).exitCode).toBe(0);
  const watched = await run('job', 'watch', 'nothing');
  expect(watched.exitCode).toBe(0);
  expect(watched.out.join('\n')).toMatch(/COMPLETED \(clean\)/);
  expect(watched.out.join('\n')).toMatch(/100 % +0 of 0 offsets/);
  expect(watched.out.join('\n')).not.toMatch(/NaN|Infinity|null|undefined/);
});

it('ends with 8 for a job with dead letters', async () => {
  await submit('picky-1', 'picky');
  const waited = await run('job', 'wait', 'picky-1', '--timeout', PATIENCE, '-o', 'json');
  expect(parsed(waited)).toMatchObject({
    state: 'COMPLETED',
    reason: 'dead letters',
    totals: { ok: '3', deadLettered: '1' },
  });
  expect(waited.exitCode).toBe(8);
  expect((await run('job', 'watch', 'picky-1')).exitCode).toBe(8);
});

it('P10: audits a job against the log and its dead letters, and against a sink with a planted loss and duplicate', async () => {
  await submit('audited', 'picky');
  await run('job', 'wait', 'audited', '--timeout', PATIENCE);
  const plain = await run('job', 'audit', 'audited', '-o', 'json');
  expect(parsed(plain)).toMatchObject({
    verdict: 'proven',
    scanned: '4',
    records: '4',
    processed: '4',
    ok: '3',
    deadLettered: '1',
    remaining: '0',
    effects: null,
    findings: [],
  });
  expect(plain.exitCode).toBe(0);
  const withSink = (...effects: readonly string[]): Promise<CliRun> =>
    run('job', 'audit', 'audited', '--sink-sql', effects.map((effect) => `select ${effect}`).join(' union all '));
  const place = (offset: number): string => `0 as partition, ${offset} as "offset"`;
  expect(await withSink(place(3), place(0), place(2))).toMatchObject({ exitCode: 0 });
  const key = (offset: number): string => `'${topic}/0/${offset}' as id`;
  const keyed = await withSink(key(3), key(0), key(2), "'other/0/7'");
  expect(keyed.out.join('\n')).toMatch(/effects +of 3 records in the sink, 0 more than once, 0 records without/);
  expect(keyed.exitCode).toBe(0);
  const lossy = await withSink(place(0), place(2));
  expect(lossy.out.join('\n')).toMatch(/broken: range 0:-1: records without an effect in the sink: 1; skipped: 0/);
  expect(lossy.exitCode).toBe(1);
  expect((await withSink(place(0), place(2), place(3), place(3))).exitCode).toBe(1);
  const wrong = await withSink('1 as a, 2 as b');
  expect(wrong).toMatchObject({ exitCode: 2 });
  expect(wrong.notes.join('')).toMatch(/must select the columns "partition" and "offset".*selects a, b/);
  expect((await run('job', 'audit', 'nobody')).exitCode).toBe(3);
});

it('B1: an audit says what retention took since, and ends with 8', async () => {
  const cut = await createTopic(uniqueName('cli-cut'));
  await produce(cut, [{ value: '0' }, { value: '1' }, { value: '2' }]);
  await run('job', 'submit', '--topic', cut, '--handler', 'count', '--id', 'cut');
  await run('job', 'wait', 'cut', '--timeout', PATIENCE);
  await deleteRecordsBefore(cut, 0, 2n);
  const audit = await run('job', 'audit', 'cut');
  expect(audit.out.join('\n')).toMatch(/unprovable: range 0:-1: .* 0 to 1 are not in the log any more/);
  expect(audit.exitCode).toBe(8);
});

it('D2: lists dead letters by what went wrong, shows one, and exports all with every byte', async () => {
  await submit('buried', 'picky');
  await run('job', 'wait', 'buried', '--timeout', PATIENCE);
  const listed = await run('deadletter', 'list', topic, '--job', 'buried', '-o', 'json');
  expect(JSON.parse(listed.out.join(''))).toMatchObject([
    { count: 1, jobId: 'buried', handler: 'picky', faultClass: 'data', error: 'a bad value' },
  ]);
  const { newest } = (JSON.parse(listed.out.join('')) as { newest: { partition: number; offset: string } }[])[0] ?? {};
  const place = `${newest?.partition}:${newest?.offset}`;
  const shown = (await run('deadletter', 'show', topic, place)).out.join('\n');
  expect(shown).toMatch(new RegExp(`record +offset 1 of partition 0 of ${topic}`));
  expect(shown).toMatch(/fault +data, after 1 attempts: a bad value\nkey +\(null\)\nvalue +"bad apple"/);
  const exported = await run('deadletter', 'export', topic, '--job', 'buried');
  expect(exported.out.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { origin: { topic, partition: 0, offset: '1' }, key: null, value: { text: 'bad apple' } },
  ]);
  expect((await run('deadletter', 'list', topic, '--class', 'timeout')).out.join('')).toMatch(/no dead letters in/);
  expect((await run('deadletter', 'show', topic, '0:999')).exitCode).toBe(3);
  expect((await run('deadletter', 'show', topic, 'x')).exitCode).toBe(2);
  expect((await run('deadletter', 'list', uniqueName('no-such'))).exitCode).toBe(3);
  const clean = await createTopic(uniqueName('cli-clean'));
  expect((await run('deadletter', 'list', clean)).out.join('')).toMatch(/has no dead letters/);
});

it('redrives dead letters as the records they are of, as a job whose numbers add up', async () => {
  await submit('failed', 'picky');
  await run('job', 'wait', 'failed', '--timeout', PATIENCE);
  const redrive = (...more: readonly string[]): Promise<CliRun> =>
    run('deadletter', 'redrive', topic, '--job', 'failed', '--yes', ...more);
  const dry = await redrive('--dry-run', '--class', 'data');
  expect(dry.out.join('\n')).toMatch(
    /would hand 1 dead letters of .* to handler picky; nothing was requested\nby class +data: 1\nby round +1: 1/,
  );
  // It fails again: a second letter of the same record, beside the first.
  expect((await redrive('--id', 'again', '--class', 'data')).exitCode).toBe(0);
  expect((await run('job', 'wait', 'again', '--timeout', PATIENCE)).exitCode).toBe(8);
  expect(parsed(await redrive('--id', 'again', '--class', 'data', '-o', 'json'))).toMatchObject({ created: false });
  const rounds = (await run('deadletter', 'export', topic, '--job', 'again')).out.map(
    (line) => JSON.parse(line) as object,
  );
  expect(rounds).toMatchObject([
    { origin: { topic, partition: 0, offset: '1' }, round: 2, value: { text: 'bad apple' } },
  ]);
  expect((await run('job', 'audit', 'again')).exitCode).toBe(0);
  // Of its letters all are asked for, whatever it was asked for itself.
  const all = parsed(await run('deadletter', 'redrive', topic, '--job', 'again', '--dry-run', '-o', 'json'));
  expect(all).toMatchObject({ letters: 1, request: { parameters: { 'letters.job': 'again' } } });
  expect(all).not.toHaveProperty(['request', 'parameters', 'letters.class']);
  // Handed to another handler it is done, and those of other jobs are counted as filtered.
  expect((await redrive('--id', 'mended', '--handler', 'count')).exitCode).toBe(0);
  const mended = await run('job', 'wait', 'mended', '--timeout', PATIENCE, '-o', 'json');
  expect(parsed(mended)).toMatchObject({ state: 'COMPLETED', reason: 'clean', totals: { ok: '1', deadLettered: '0' } });
  expect((await run('job', 'audit', 'mended')).exitCode).toBe(0);
  expect((await redrive('--max-rounds', '1')).exitCode).toBe(3);
  expect((await run('deadletter', 'redrive', topic)).notes.join('')).toMatch(/--handler, or --job/);
});

it('waits for a worker when told so, ends with 7 when the time is over, and cancels with a reason', async () => {
  expect((await submit('patient', 'later', '--allow-unknown-handler')).exitCode).toBe(0);
  const waited = await run('job', 'wait', 'patient', '--timeout', '0.3');
  expect(waited.exitCode).toBe(7);
  expect(waited.notes.join('')).toMatch(/job patient was RUNNING and is not over after 0.3 s/);
  const dry = await run('job', 'cancel', 'patient', '--dry-run');
  expect(dry.out.join('')).toMatch(/would cancel job patient, which is RUNNING; nothing was changed/);
  expect((await cli(['job', 'cancel', 'patient'], env, { answer: false })).exitCode).toBe(1);
  expect(parsed(await run('job', 'show', 'patient', '-o', 'json'))).toMatchObject({ state: 'RUNNING' });
  const cancelled = await run('job', 'cancel', 'patient', '--yes', '--reason', 'nobody comes', '-o', 'json');
  expect(cancelled.exitCode).toBe(0);
  expect(parsed(cancelled)).toMatchObject({ result: 'applied', state: 'CANCELLED' });
  expect((await run('job', 'wait', 'patient')).exitCode).toBe(1);
});

it('lists all jobs, the newest first', async () => {
  await submit('older', 'count', '--no-wait');
  await run('job', 'wait', 'older', '--timeout', PATIENCE).then(
    async ({ exitCode }) =>
      exitCode === 3 && waitFor('the job', async () => (await run('job', 'show', 'older')).exitCode === 0),
  );
  await submit('newer', 'count');
  const ids = (await run('job', 'list', '-o', 'jsonl')).out.map(
    (line) => (JSON.parse(line) as { jobId: string }).jobId,
  );
  expect(ids.indexOf('newer')).toBeLessThan(ids.indexOf('older'));
  expect((await run('job', 'list')).out[0]).toMatch(/^JOB +STATE +TOPIC +HANDLER +OFFSETS .*REQUESTED/);
});

it('D2: reads a topic, bounded, with null, nothing, text and bytes as different things', async () => {
  const read = await run('topic', 'read', topic, '-o', 'jsonl');
  expect(read.exitCode).toBe(0);
  expect(
    read.out.map((line) => JSON.parse(line) as { key: unknown; value: unknown }).map(({ key, value }) => [key, value]),
  ).toEqual([
    [{ text: 'a' }, { text: 'good' }],
    [null, { text: 'bad apple' }],
    [{ text: '' }, null],
    [{ base64: 'AP/+' }, { text: 'null' }],
  ]);
  const two = await run('topic', 'read', topic, '--from', '0:1', '--to', '0:3', '--limit', '2');
  expect(two.out).toHaveLength(2);
  expect(two.out[0]).toMatch(/^0:1 .* \(null\) {2}"bad apple"$/);
  expect(two.notes.join('')).toMatch(/more than 2 records/);
});

it('resolves a window without a job, and says what was clamped', async () => {
  const window = await run('window', topic, '--from', '0:1', '--to', '0:99', '-o', 'jsonl');
  expect(parsed(window)).toMatchObject({
    partition: 0,
    start: '0',
    end: '3',
    offsets: '3',
    clamped: expect.stringMatching(/99 is beyond the log/),
  });
});

it('a dry run tells the time by the newest finished job of the handler, and what else holds the log, and requests nothing', async () => {
  await run('job', 'wait', 'newer', '--timeout', PATIENCE); // Of the test before: else it may be the newest.
  await submit('pace', 'count');
  await run('job', 'wait', 'pace', '--timeout', PATIENCE);
  expect((await submit('holds', 'later', '--allow-unknown-handler', '--from', '0:2')).exitCode).toBe(0);
  const dry = (): Promise<CliRun> => submit('dry', 'count', '--dry-run', '-o', 'json');
  const plan = parsed(await dry());
  expect(plan).toMatchObject({
    dryRun: true,
    time: {
      kind: 'about',
      source: expect.stringMatching(/^job pace, the newest finished one of handler count: 4 records in /),
    },
    partitions: [
      { floor: { offset: '0', heldOffsets: '4', moreOffsets: '2', lowestNow: { holder: 'holds', offset: '2' } } },
      {},
    ],
    floorsUnknown: '',
  });
  // The one before left no floor behind.
  expect(parsed(await dry())).toEqual(plan);
  expect((await run('job', 'show', 'dry')).exitCode).toBe(3);
  await run('job', 'cancel', 'holds', '--yes');
});
