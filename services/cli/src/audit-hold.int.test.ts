/** What the log keeps for an audit, through the command line, with a distributor, a worker and a guard of their own. */
import {
  createTopic,
  environmentOf,
  produce,
  type SpawnedProgram,
  spawnProgram,
  uniqueName,
  uniqueNamespace,
  waitFor,
} from '@tidemark/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServices } from './testing/served.ts';
import { type CliRun, cli } from './testing/test-terminal.ts';

/** In seconds: for what is to come, on a loaded machine. */
const PATIENCE = '120';
const T0 = 1_700_000_000_000;

let env: ReturnType<typeof environmentOf>;
let programs: readonly SpawnedProgram[] = [];

const run = (...args: readonly string[]): Promise<CliRun> => cli(args, env);
const json = (result: CliRun): unknown => JSON.parse(result.out.join(''));

async function topicOf(count: number): Promise<string> {
  const topic = await createTopic(uniqueName('hold'), { configs: { 'retention.ms': '-1' } });
  const values = Array.from({ length: count }, (_, index) => ({ value: 'x', timestamp: String(T0 + index * 1_000) }));
  await produce(topic, values);
  return topic;
}

/** As one cycle of the guard makes it, which keeps nothing that nobody needs. */
async function cycle(topic: string): Promise<unknown> {
  const args = ['retention', 'run', '--topics', `${topic}=0s`];
  const guard = spawnProgram({ script: 'services/cli/src/main.ts', args, env });
  expect((await guard.exit).code).toBe(0);
  const answer = guard.lines.find((line) => line.startsWith('{"topic"'));
  return JSON.parse(answer ?? 'null');
}

/** Its own floor goes last. */
async function done(topic: string, id: string): Promise<void> {
  expect((await run('job', 'wait', id, '--timeout', PATIENCE)).exitCode).toBe(0);
  await waitFor(`the floor of ${id} to go`, async () => {
    const [row] = json(await run('retention', 'status', topic, '-o', 'json')) as [{ heldBy: { holder: string }[] }];
    return !row.heldBy.some(({ holder }) => holder === id);
  });
}

beforeAll(async () => {
  env = environmentOf(uniqueNamespace('hold'));
  programs = startServices(env, {});
  await Promise.all(programs.map((program) => program.logged('program.started')));
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.kill('SIGTERM')));
});

it('P7, P10: a window that is held is not cut until an audit has proved it, and that lets go', async () => {
  const topic = await topicOf(6);
  const submit = ['job', 'submit', '--topic', topic, '--handler', 'count', '--id', 'kept', '--allow-unknown-handler'];
  const held = [...submit, '--hold-for-audit', '2h'];
  const dry = await run(...held, '--dry-run', '-o', 'json');
  expect(json(dry)).toMatchObject({ holdForAuditMs: '7200000', sum: { heldOffsets: '6' } });
  expect((await run(...held, '--dry-run')).out.join('\n')).toMatch(
    /until an audit has proved it, or 2 h after its end, a job would hold these records in the log, and all that come after them/,
  );
  expect((await run(...held)).exitCode).toBe(0);
  expect((await run(...submit)).exitCode).toBe(5); // Without the hold it is another wish.
  await done(topic, 'kept');

  expect(await cycle(topic)).toMatchObject({ outcome: 'held', floor: '0', holder: 'audit:kept' });
  const [row] = json(await run('retention', 'status', '-o', 'json')) as [{ heldBy: { audit: { untilMs: string } }[] }];
  expect(row).toMatchObject({ topic, holder: 'audit:kept', heldBy: [{ audit: { jobId: 'kept' } }] });
  const until = new Date(Number(row.heldBy[0]?.audit.untilMs)).toISOString();
  const shown = json(await run('job', 'show', 'kept', '-o', 'json'));
  expect(shown).toMatchObject({ state: 'COMPLETED', heldForAudit: { until } });
  const held2h = Date.parse(until) - Date.parse((shown as { updatedAt: string }).updatedAt);
  expect(held2h).toBe(7_200_000);
  expect((await run('job', 'show', 'kept')).out.join('\n')).toContain(`held       for an audit until ${until}; `);
  expect((await run('retention', 'status')).notes.join('\n')).toContain(
    `${topic}/0: held for the audit of job kept, until ${until}; "tidemark job audit kept" proves it`,
  );

  // Neither a look nor an audit that proves less lets go.
  expect(json(await run('job', 'audit', 'kept', '--dry-run', '-o', 'json'))).toMatchObject({
    verdict: 'proven',
    hold: 'kept',
  });
  const missing = 'select 0 as partition, -1::bigint as "offset" where false';
  const broken = await run('job', 'audit', 'kept', '--sink-sql', missing);
  expect(broken).toMatchObject({ exitCode: 1 });
  expect(broken.out.at(-1)).toMatch(/^the log stays held for an audit, until .*"tidemark job release kept" lets go/);
  expect(await cycle(topic)).toMatchObject({ outcome: 'held' });

  const proven = await run('job', 'audit', 'kept');
  expect(proven).toMatchObject({ exitCode: 0 });
  expect(proven.out.slice(-2)).toEqual([
    expect.stringMatching(/^PROVEN/),
    'the log is not held for this audit any more',
  ]);
  await waitFor('the floor to go', async () => {
    const [now] = json(await run('retention', 'status', topic, '-o', 'json')) as [{ holder: string | null }];
    return now.holder === null;
  });
  expect(await cycle(topic)).toMatchObject({ outcome: 'cut', cutOffsets: '6' });
  expect(json(await run('job', 'audit', 'kept', '-o', 'json'))).toMatchObject({ verdict: 'unprovable', hold: 'none' });
});

it('is let go by an operator, and there must be something to let go', async () => {
  const topic = await topicOf(3);
  const submit = ['job', 'submit', '--topic', topic, '--handler', 'count', '--allow-unknown-handler'];
  // Without a time it is a day.
  expect((await run(...submit, '--id', 'given-up', '--hold-for-audit')).exitCode).toBe(0);
  await done(topic, 'given-up');
  const shown = json(await run('job', 'show', 'given-up', '-o', 'json'));
  expect(shown).toMatchObject({ heldForAudit: { afterEndMs: '86400000' } });
  const looked = await run('job', 'release', 'given-up', '--dry-run');
  expect(looked.out.join('')).toMatch(/^would release job given-up/);
  const released = await run('job', 'release', 'given-up', '--reason', 'the disk is full');
  expect(released).toMatchObject({ exitCode: 0, out: ['given-up  the log is not held for an audit of it any more'] });
  const again = await run('job', 'release', 'given-up');
  expect(again).toMatchObject({ exitCode: 5, out: [] });
  expect(again.notes.join('')).toMatch(/job given-up is COMPLETED .*: the log is not held for an audit of it any more/);

  expect((await run(...submit, '--id', 'plain')).exitCode).toBe(0);
  const never = await run('job', 'release', 'plain');
  expect(never.exitCode).toBe(5);
  expect(never.notes.join('')).toMatch(/the log is not held for an audit of it; --hold-for-audit/);
  expect((await run('job', 'release', 'nobody')).exitCode).toBe(3);
  for (const time of ['soon', '91d', '-1', '1.5h'])
    expect([time, (await run(...submit, `--hold-for-audit=${time}`)).exitCode]).toEqual([time, 2]);
});

it('C1: with a disorder bound a window by time ends early, in its plan, its preview and its job', async () => {
  const topic = await topicOf(10);
  const window = ['--to', String(T0 + 4_000), '--disorder', '2'];
  expect(json(await run('window', topic, ...window, '-o', 'json'))).toMatchObject({
    partitions: [{ first: '0', last: '5', matched: { value: '4' } }],
  });
  const submit = ['job', 'submit', '--topic', topic, '--handler', 'count', '--id', 'timed', '--allow-unknown-handler'];
  expect(json(await run(...submit, ...window, '--dry-run', '-o', 'json'))).toMatchObject({ sum: { offsets: '6' } });
  expect((await run(...submit, ...window)).exitCode).toBe(0);
  expect((await run('job', 'wait', 'timed', '--timeout', PATIENCE)).exitCode).toBe(0);
  expect(json(await run('job', 'audit', 'timed', '-o', 'json'))).toMatchObject({
    verdict: 'proven',
    scanned: '6',
    ok: '4',
    filtered: '2',
  });
  for (const args of [
    ['window', topic],
    [...submit, '--id', 'endless'],
  ]) {
    const refused = await run(...args, '--disorder', '2');
    expect(refused.exitCode).toBe(2);
    expect(refused.notes.join('')).toMatch(/it needs an instant as its end/);
  }
});
