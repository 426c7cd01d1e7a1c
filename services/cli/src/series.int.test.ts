/** A series through the command line, with a distributor and a worker of their own. */
import { mkdtempSync, writeFileSync } from 'node:fs';
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

let env: ReturnType<typeof environmentOf>;
let topic: string;
let programs: readonly SpawnedProgram[];
const gate = join(mkdtempSync(join(tmpdir(), 'tidemark-series-')), 'gate');

const run = (...args: readonly string[]): Promise<CliRun> => cli(args, env);
/** On a terminal, where somebody says no to every question. */
const refusing = (...args: readonly string[]): Promise<CliRun> => cli(args, env, { answer: false });
const create = (name: string, ...more: readonly string[]): Promise<CliRun> =>
  run('series', 'create', name, '--topic', topic, '--handler', 'gated', '--param', `gate=${gate}`, ...more);
const told = ({ exitCode, out, notes }: CliRun): readonly [number, string] => [exitCode, [...out, ...notes].join('\n')];
const parsed = ({ out }: CliRun): unknown => JSON.parse(out.at(-1) ?? 'null');

beforeAll(async () => {
  env = environmentOf(uniqueNamespace('cli'));
  topic = await createTopic(uniqueName('cli'), { partitions: 2 });
  await produce(topic, [{ value: 'one' }, { value: 'two' }], { partition: 0 });
  programs = startServices(env, { TIDEMARK_HANDLERS: HANDLERS });
  await waitFor(
    'a worker that announces its handlers',
    async () => (await create('nightly', '--every', '6h')).exitCode === 0,
  );
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.kill('SIGKILL')));
});

it('is created once, runs, stops with a run that was cancelled, goes on behind it, and is deleted', async () => {
  expect(told(await create('nightly', '--every', '6h'))).toEqual([
    0,
    expect.stringMatching(/^nightly {2}ACTIVE; the same/),
  ]);
  expect(told(await create('nightly', '--every', '7h'))).toEqual([
    5,
    expect.stringContaining('exists with other content'),
  ]);
  expect(told(await create('bad', '--cron', '0 25 * * *'))).toEqual([
    2,
    expect.stringContaining('cron field 2 (hour) "25"'),
  ]);
  expect(told(await create('bad', '--cron', '0 5 * * *', '--zone', 'Mars'))).toEqual([
    2,
    expect.stringContaining('"Mars"'),
  ]);
  expect(told(await create('bad', '--every', '1m', '--topic', 'nowhere'))).toEqual([
    3,
    expect.stringContaining('nowhere'),
  ]);

  expect(told(await create('other', '--every', '1h', '--dry-run'))).toEqual([
    0,
    expect.stringMatching(
      /^would create series other; nothing was ordered\na run that began now would be 1 ranges of /,
    ),
  ]);
  expect(parsed(await create('other', '--every', '1h', '--dry-run', '-o', 'json'))).toMatchObject({
    series: 'other',
    dryRun: true,
    partitions: [
      { partition: 0, start: '-1', end: '1' },
      { partition: 1, start: '-1', end: '-1' },
    ],
  });
  expect((await run('series', 'show', 'other')).exitCode).toBe(3);

  expect(told(await run('series', 'run', 'nightly', '--dry-run'))).toEqual([
    0,
    'nightly  would run; it is ACTIVE, and nothing was changed',
  ]);
  expect(told(await run('series', 'show', 'nightly'))[1]).toContain('runs       0');
  // A run takes nothing away, and asks nothing.
  expect(told(await run('series', 'run', 'nightly', '--yes'))).toEqual([2, expect.stringContaining('--yes')]);
  expect(told(await refusing('series', 'run', 'nightly'))).toEqual([
    0,
    expect.stringMatching(/^nightly {2}run nightly-1;/),
  ]);
  expect(told(await run('series', 'run', 'nightly'))).toEqual([
    0,
    expect.stringContaining('as soon as nightly-1 ends'),
  ]);
  expect(told(await run('job', 'show', 'nightly-1'))[1]).toContain('series     a run of nightly;');
  expect(parsed(await run('series', 'list', '-o', 'json'))).toMatchObject([
    { series: 'nightly', status: 'ACTIVE', runs: '1', liveRun: 'nightly-1', partitions: [{ end: '1' }, { end: '-1' }] },
  ]);

  await run('job', 'cancel', 'nightly-1', '--force', '--yes', '--reason', 'wrong handler');
  await waitFor('the series to stop', async () =>
    told(await run('series', 'show', 'nightly'))[1].includes('STOPPED (RUN_DID_NOT_COMPLETE: run nightly-1'),
  );
  expect(told(await run('series', 'run', 'nightly'))).toEqual([
    5,
    expect.stringContaining('resume it first: "tidemark series resume nightly"'),
  ]);
  expect(told(await run('series', 'resume', 'nightly', '--dry-run'))).toEqual([
    0,
    expect.stringMatching(/^nightly {2}would resume; it is STOPPED .*, and nothing was changed$/),
  ]);
  expect(told(await refusing('series', 'resume', 'nightly'))).toEqual([1, 'tidemark: nothing was changed']);
  expect(told(await run('series', 'show', 'nightly'))[1]).toContain('STOPPED (RUN_DID_NOT_COMPLETE: run nightly-1');
  expect(told(await run('series', 'resume', 'nightly'))).toEqual([
    0,
    expect.stringMatching(/ACTIVE again, behind .* nightly-1 ended as CANCELLED: wrong handler.* is skipped/),
  ]);

  writeFileSync(gate, '');
  await produce(topic, [{ value: 'three' }], { partition: 1 });
  expect(told(await run('series', 'run', 'nightly'))).toEqual([0, expect.stringMatching(/^nightly {2}run nightly-2;/)]);
  expect(parsed(await run('job', 'wait', 'nightly-2', '-o', 'json'))).toMatchObject({
    state: 'COMPLETED',
    totals: { ok: '1' },
  });
  await waitFor('nothing new', async () => told(await run('series', 'run', 'nightly'))[1].includes('nothing new'));
  expect(told(await refusing('series', 'delete', 'nightly'))).toEqual([1, 'tidemark: nothing was changed']);
  expect(told(await run('series', 'delete', 'nightly', '--dry-run'))).toEqual([
    0,
    'nightly  would delete; it is ACTIVE, and nothing was changed',
  ]);
  expect(told(await run('series', 'delete', 'nightly', '--yes'))).toEqual([
    0,
    expect.stringContaining('DELETED; the log'),
  ]);
  expect(told(await run('series', 'list'))).toEqual([0, 'no series']);
  expect((await run('series', 'run', 'nightly')).exitCode).toBe(5);
  expect((await run('series', 'show', 'never')).exitCode).toBe(3);
});
