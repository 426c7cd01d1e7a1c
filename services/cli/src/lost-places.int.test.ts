/** A job that goes on behind a loss in the midst of its run: which offsets those were, on real services, to the very end. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Connections, connect } from '@tidemark/control/connect';
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
import { afterAll, beforeAll, expect, it } from 'vitest';
import { scriptOf } from './repository.ts';
import { cli } from './testing/test-terminal.ts';

const HANDLERS = new URL('./testing/steered-handlers.ts', import.meta.url).pathname;
const JOB = 'lossy';
/** Fail for ever: they are parked when they are lost. */
const BAD = [5, 7, 8];
/** In the first of them the worker is killed, at the second the store forgets the job. */
const HOLDS = [20, 70];

const namespace = uniqueNamespace('lost');
const env = environmentOf(namespace);
const folder = mkdtempSync(join(tmpdir(), 'tidemark-gate-'));
const gate = join(folder, 'gate');
let topic: string;
let connections: Connections;
const programs: SpawnedProgram[] = [];

interface Shown {
  readonly counters: { readonly lost: string; readonly parked: string };
  readonly lost: readonly object[];
  readonly lostUnplaced: string;
  readonly ranges: readonly { readonly cursor: string; readonly owner: string }[];
}

async function json<Answer>(...args: readonly string[]): Promise<Answer> {
  const { out } = await cli([...args, '-o', 'json'], env);
  return JSON.parse(out.join('')) as Answer;
}

const shown = (): Promise<Shown> => json<Shown>('job', 'show', JOB);

function start(program: 'distributor' | 'worker'): SpawnedProgram {
  // Short, for a worker that is killed; what a busy machine costs beyond that is a lease more.
  const own = { TIDEMARK_HANDLERS: HANDLERS, TIDEMARK_LEASE_TTL_MS: '2000' };
  const started = spawnProgram({ script: scriptOf(program), env: program === 'worker' ? { ...env, ...own } : env });
  programs.push(started);
  return started;
}

beforeAll(async () => {
  topic = await createTopic(uniqueName('lost'));
  const texts = Array.from({ length: 100 }, (_, offset) =>
    BAD.includes(offset) ? 'bad' : HOLDS.includes(offset) ? 'hold' : String(offset),
  );
  await produce(
    topic,
    texts.map((value) => ({ value })),
  );
  const { kafka, redis, registry } = services();
  const at = { kafka: [kafka], redisUrl: redis, registryUrl: registry };
  connections = await connect({ ...at, namespace, clientId: namespace });
  start('distributor');
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.kill('SIGKILL')));
  await connections.close();
  rmSync(folder, { recursive: true, force: true });
});

it('B1: under --on-lost skip a loss in mid-run, of parked records, too, is named exactly, also over a store that forgot it', async () => {
  const job = ['--topic', topic, '--id', JOB, '--handler', 'uneven', '--param', `gate=${gate}`];
  const how = ['--on-lost', 'skip', '--chunk', '20', '--attempts', '100', '--allow-unknown-handler'];
  await waitFor('the job to be pinned', async () => (await cli(['job', 'submit', ...job, ...how], env)).exitCode === 0);

  const first = start('worker');
  await waitFor('the first chunk to be settled, but for what is parked', async () => {
    const { ranges, counters } = await shown();
    return ranges[0]?.cursor === '19' && counters.parked === String(BAD.length);
  });
  await first.kill('SIGKILL');
  await deleteRecordsBefore(topic, 0, 50n);

  start('worker');
  const places = [
    { partition: 0, first: '5', last: '5' },
    { partition: 0, first: '7', last: '8' },
    { partition: 0, first: '20', last: '49' },
  ];
  await waitFor('all that is lost to be passed', async () => {
    const { ranges, counters } = await shown();
    return ranges[0]?.cursor === '69' && counters.lost === '33';
  });
  expect(await shown()).toMatchObject({ lost: places, lostUnplaced: '0' });

  await waitFor('a checkpoint of that', async () => {
    const [checkpoint] = await connections.jobLog.checkpoints(JOB);
    return checkpoint?.cursor === 69n && checkpoint.counters.lost === 33n;
  });
  await connections.store.remove({ jobId: JOB });
  await waitFor('the store to be filled again', async () => (await connections.store.snapshot(JOB)) !== undefined);
  expect(await shown()).toMatchObject({ lost: places, lostUnplaced: '0', counters: { lost: '33', parked: '0' } });
  writeFileSync(gate, '');

  expect((await cli(['job', 'wait', JOB, '--timeout', '120'], env)).exitCode).toBe(8);
  expect(await shown()).toMatchObject({
    ...{ state: 'COMPLETED', reason: 'loss', totals: { ok: '67', lost: '33', deadLettered: '0' } },
    ...{ lost: places, lostUnplaced: '0' },
  });
  const audit = await cli(['job', 'audit', JOB, '-o', 'json'], env);
  expect(JSON.parse(audit.out.join(''))).toMatchObject({
    ...{ lost: '33', remaining: '0', findings: [] },
    ranges: [
      {
        lost: places.map(({ partition: _, ...interval }) => interval),
        // What was settled before it was removed with the rest: the log cannot show it any more, and nothing contradicts.
        findings: [
          {
            kind: 'unprovable',
            message: ['0 to 4', '6', '9 to 19'].map((at) => `offsets ${at} are not in the log any more`).join('; '),
          },
        ],
      },
    ],
  });
});
