/** Audits on real services that ask the handler which effects are there. The worker comes when both jobs are pinned. */
import {
  createTopic,
  deleteRecordsBefore,
  environmentOf,
  produce,
  type SpawnedProgram,
  services,
  spawnProgram,
  uniqueName,
  uniqueNamespace,
  waitFor,
} from '@tidemark/testkit';
import { Pool } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { scriptOf } from './repository.ts';
import { type CliRun, cli } from './testing/test-terminal.ts';

const HANDLERS = new URL('./testing/verified-handlers.ts', import.meta.url).pathname;
const OTHER_HANDLERS = new URL('./testing/faulty-handlers.ts', import.meta.url).pathname;

const env = environmentOf(uniqueNamespace('audit'));
const table = uniqueNamespace('audit').replaceAll('-', '_');
const pool = new Pool({ connectionString: services().postgres });
let topic: string;
let cut: string;
let programs: readonly SpawnedProgram[] = [];

const run = (...args: readonly string[]): Promise<CliRun> => cli(args, env);
const audit = (id: string, ...more: readonly string[]): Promise<CliRun> =>
  run('job', 'audit', id, '--handlers', HANDLERS, ...more);

/** Asked again until a distributor has pinned it: the same id is the same job. */
async function submit(id: string, of: string, ...more: readonly string[]): Promise<void> {
  const job = ['--topic', of, '--id', id, '--handler', 'ledger', '--param', `table=${table}`, ...more];
  await waitFor(`job ${id} is pinned`, async () => {
    const { exitCode } = await run('job', 'submit', ...job, '--allow-unknown-handler');
    return exitCode === 0;
  });
}

beforeAll(async () => {
  [topic, cut] = await Promise.all([createTopic(uniqueName('audit')), createTopic(uniqueName('audit-cut'))]);
  const values = ['0', '1', '2', '3', '4'].map((value) => ({ value }));
  await Promise.all([produce(topic, values), produce(cut, values)]);
  await pool.query(`create table ${table} (event text not null, constraint ${table}_key unique (event))`);
  programs = [spawnProgram({ script: scriptOf('distributor'), env })];
  await submit('whole', topic);
  await submit('cut', cut, '--on-lost', 'skip');
  await deleteRecordsBefore(cut, 0, 3n);
  programs = [...programs, spawnProgram({ script: scriptOf('worker'), env: { ...env, TIDEMARK_HANDLERS: HANDLERS } })];
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.kill('SIGTERM')));
  await pool.query(`drop table if exists ${table}`);
  await pool.end();
});

it('P10: asks the handler for the effects, and names a planted loss and a planted duplicate', async () => {
  expect((await run('job', 'wait', 'whole', '--timeout', '120')).exitCode).toBe(0);
  const right = await audit('whole', '-o', 'json');
  expect(JSON.parse(right.out.join(''))).toMatchObject({
    verdict: 'proven',
    scanned: '5',
    processed: '5',
    ok: '5',
    remaining: '0',
    effects: { uniqueIds: '5', duplicateIds: '0', missing: '0', unknown: '0' },
  });
  expect(right.exitCode).toBe(0);

  await pool.query(`alter table ${table} drop constraint ${table}_key`);
  await pool.query(`delete from ${table} where event = '${topic}/0/1'`);
  await pool.query(`insert into ${table} values ('${topic}/0/4')`);
  const wrong = await audit('whole', '-o', 'json');
  expect(JSON.parse(wrong.out.join(''))).toMatchObject({
    verdict: 'broken',
    effects: {
      uniqueIds: '4',
      duplicateIds: '1',
      missing: '1',
      first: { missing: [`${topic}/0/1`], duplicate: [`${topic}/0/4`] },
    },
  });
  expect(wrong.exitCode).toBe(1);
  const page = (await audit('whole')).out.join('\n');
  expect(page).toMatch(/broken: range 0:-1: records without an effect in the sink: 1; skipped: 0 \(offsets 1\)/);
  expect(page).toMatch(/broken: range 0:-1: effects beyond the first .*: 1; the handler says that it is idempotent/);

  await pool.query(`alter table ${table} rename to ${table}_away`);
  const blind = await audit('whole');
  await pool.query(`alter table ${table}_away rename to ${table}`);
  expect(blind.out.join('\n')).toMatch(
    /unprovable: .* effect is unknown: 5; offsets 0 to 4: .*audit_.* does not exist/,
  );
  expect(blind.exitCode).toBe(8);
});

it('B1: a job that passed a foreign truncation adds up, with the exact interval', async () => {
  const waited = await run('job', 'wait', 'cut', '--timeout', '120', '-o', 'json');
  expect(JSON.parse(waited.out.join(''))).toMatchObject({ state: 'COMPLETED', reason: 'loss' });
  const proven = await audit('cut', '-o', 'json');
  expect(JSON.parse(proven.out.join(''))).toMatchObject({
    verdict: 'proven',
    ok: '2',
    lost: '3',
    remaining: '0',
    effects: { uniqueIds: '2', missing: '0' },
    ranges: [{ lost: [{ first: '0', last: '2' }] }],
  });
  expect((await audit('cut')).out).toContain('lost       3 offsets: 0:0 to 2');
});

it('says that nothing is proved when it is stopped', async () => {
  const stopped = await cli(['job', 'audit', 'whole', '--handlers', HANDLERS], env, { signal: AbortSignal.abort() });
  expect(stopped).toMatchObject({ exitCode: 1, out: [] });
  expect(stopped.notes.join('')).toMatch(/the audit was stopped before its end: nothing is proved/);
});

it('says what to do when the file does not export the handler, and takes one source of effects', async () => {
  const other = await run('job', 'audit', 'whole', '--handlers', OTHER_HANDLERS);
  expect(other.exitCode).toBe(3);
  expect(other.notes.join('')).toMatch(/job whole is of handler ledger, and .* exports once, picky: name the file/);
  expect((await audit('whole', '--sink-sql', 'select 1')).exitCode).toBe(2);
});
