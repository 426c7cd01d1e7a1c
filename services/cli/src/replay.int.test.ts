/** Replays of a window by the handlers that every worker has, and corrected dead letters, on real services. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
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
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startServices } from './testing/served.ts';
import { type CliRun, cli } from './testing/test-terminal.ts';

const HANDLERS = new URL('./testing/faulty-handlers.ts', import.meta.url).pathname;
const BINARY = Buffer.from([0, 255, 254]);

let env: ReturnType<typeof environmentOf>;
let topic: string;
let programs: readonly SpawnedProgram[];

const run = (...args: readonly string[]): Promise<CliRun> => cli(args, env);
const submit = (id: string, handler: string, ...more: readonly string[]): Promise<CliRun> =>
  run('job', 'submit', '--topic', topic, '--handler', handler, '--id', id, ...more);
const wait = (id: string): Promise<CliRun> => run('job', 'wait', id, '--timeout', '120', '-o', 'json');
const parsed = (result: CliRun): Record<string, unknown> =>
  JSON.parse(result.out.at(-1) ?? 'null') as Record<string, unknown>;
const lines = (result: CliRun): readonly unknown[] => result.out.map((line) => JSON.parse(line) as unknown);

beforeAll(async () => {
  env = environmentOf(uniqueNamespace('replay'));
  topic = await createTopic(uniqueName('replay'), { partitions: 2 });
  await produce(topic, [
    { key: 'a', value: 'good', headers: { h: BINARY }, timestamp: '1700000000000' },
    { key: null, value: 'bad apple' },
    { key: '', value: null },
    { key: BINARY, value: 'null' },
  ]);
  programs = startServices(env, { TIDEMARK_HANDLERS: HANDLERS });
  await waitFor(
    'a worker that announces its handlers',
    async () => (await submit('look', 'picky', '--dry-run')).exitCode === 0,
  );
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.kill('SIGTERM')));
});

it('D2: republishes a window byte by byte, with where each record is from; a target that does not fit is refused', async () => {
  const copy = await createTopic(uniqueName('copy'), { partitions: 3 });
  const into = (target: string, ...more: readonly string[]): Promise<CliRun> =>
    submit(uniqueName('to'), 'republish', '--param', `topic=${target}`, ...more);
  const consent = '--accept-duplicates';
  expect((await into(copy)).notes.join()).toMatch(/republish is not idempotent.*--accept-duplicates consents/);
  const missing = await into(uniqueName('nowhere'), consent);
  expect(missing).toMatchObject({ exitCode: 3 });
  expect(missing.notes.join()).toMatch(/does not exist; create it first/);
  expect(await into(topic, consent)).toMatchObject({ exitCode: 2 });
  expect(await into(copy, consent, '--param', 'partition=keep')).toMatchObject({ exitCode: 2 });
  const window = ['--from', '0:0', '--to', '0:2', '--ordering', 'partition'];
  expect(await submit('copied', 'republish', '--param', `topic=${copy}`, consent, ...window)).toMatchObject({
    exitCode: 0,
  });
  expect(parsed(await wait('copied'))).toMatchObject({ reason: 'clean', totals: { ok: '3' } });
  const copies = lines(await run('topic', 'read', copy, '-o', 'jsonl'));
  expect(copies).toHaveLength(3);
  const origin = { tm_origin_topic: topic, tm_origin_partition: '0', tm_origin_job: 'copied' };
  const headers = (own: readonly unknown[], more: Readonly<Record<string, string>>) =>
    expect.arrayContaining([...own, ...Object.entries({ ...origin, ...more }).map(([name, text]) => [name, { text }])]);
  const atZero = { tm_origin_offset: '0', tm_origin_timestamp: '1700000000000' };
  expect(copies).toContainEqual(
    expect.objectContaining({
      key: { text: 'a' },
      value: { text: 'good' },
      headers: headers([['h', { base64: 'AP/+' }]], atZero),
    }),
  );
  expect(copies).toContainEqual(
    expect.objectContaining({ key: { text: '' }, value: null, headers: headers([], { tm_origin_offset: '2' }) }),
  );
});

it('posts a window to a server, and shows nobody what its headers hold', async () => {
  const requests: IncomingHttpHeaders[] = [];
  const server = createServer(({ headers }, response) => {
    requests.push(headers);
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`;
  const secret = ['--param', 'header.authorization=Bearer s3cret'];
  await submit('posted', 'webhook', '--param', `url=${url}`, ...secret, '--accept-duplicates');
  expect(parsed(await wait('posted'))).toMatchObject({ reason: 'clean', totals: { ok: '4' } });
  expect(new Set(requests.map((headers) => headers['idempotency-key']))).toEqual(
    new Set([0, 1, 2, 3].map((offset) => `${topic}/0/${offset}`)),
  );
  expect(new Set(requests.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer s3cret']));
  expect((await run('job', 'show', 'posted', '-o', 'json')).out.join()).not.toContain('s3cret');
  expect((await submit('nowhere', 'webhook', '--param', 'url=ftp://x')).exitCode).toBe(2);
});

it('redrives a corrected copy of a dead letter in its place, and leaves the letter as it is', async () => {
  await submit('failed', 'picky');
  expect(await wait('failed')).toMatchObject({ exitCode: 8 });
  const folder = await mkdtemp(join(tmpdir(), 'edit-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'value');
  await writeFile(file, 'sound apple');
  const edit = (...more: readonly string[]): Promise<CliRun> =>
    run('deadletter', 'edit', topic, '--at', '0:0', '--reason', 'typo', ...more);
  expect(await edit()).toMatchObject({ exitCode: 2 });
  expect(await edit('--value-file', `${file}.not`)).toMatchObject({ exitCode: 3 });
  expect(await edit('--value-file', file, '--tombstone')).toMatchObject({ exitCode: 2 });
  expect(await edit('--json-file', file)).toMatchObject({ exitCode: 2, notes: [expect.stringContaining('no JSON')] });
  expect((await edit('--value-file', file, '--dry-run')).out.join()).toMatch(/would get a corrected copy; nothing was/);
  expect((await edit('--value-file', file)).out.join('\n')).toMatch(/got a corrected copy\n.*\nvalue +"sound apple"/);
  expect((await edit('--value-file', file)).notes.join()).toMatch(
    /letter 0:\d+ of .* is of the same record.*edit that one/,
  );
  expect(lines(await run('deadletter', 'list', topic, '-o', 'jsonl'))).toMatchObject([{ count: 2, edited: 1 }]);
  const letters = lines(await run('deadletter', 'export', topic));
  expect(letters).toMatchObject([
    { edit: 0, round: 1, value: { text: 'bad apple' }, origin: { offset: '1' } },
    {
      edit: 1,
      round: 1,
      value: { text: 'sound apple' },
      origin: { offset: '1' },
      edited: { of: { offset: '0' }, note: 'typo' },
    },
  ]);
  const redrive = (...more: readonly string[]): Promise<CliRun> =>
    run('deadletter', 'redrive', topic, '--job', 'failed', ...more);
  const dry = (await redrive('--dry-run')).out.join('\n');
  expect(dry).toMatch(
    /hand 1 dead letters of .*\nby class +data: 1\nby round +1: 1\nedited +1 .*\n1 more are of records/,
  );
  expect(await redrive('--id', 'mended')).toMatchObject({ exitCode: 0 });
  expect(parsed(await wait('mended'))).toMatchObject({ reason: 'clean', totals: { ok: '1', deadLettered: '0' } });
  expect((await run('job', 'audit', 'mended')).exitCode).toBe(0);
});
