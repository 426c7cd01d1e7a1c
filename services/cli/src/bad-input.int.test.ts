/** Everything a person may get wrong: the exit code, one clear message, and nothing changed. */
import {
  createTopic,
  environmentOf,
  kafkaClient,
  produce,
  type SpawnedProgram,
  services,
  uniqueName,
  uniqueNamespace,
  waitFor,
} from '@tidemark/testkit';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startServices } from './testing/served.ts';
import { type CliRun, cli } from './testing/test-terminal.ts';

const namespace = uniqueNamespace('cli');
const HANDLERS = new URL('./testing/faulty-handlers.ts', import.meta.url).pathname;

let env: ReturnType<typeof environmentOf>;
let topic: string;
let programs: readonly SpawnedProgram[];

const run = (...args: readonly string[]): Promise<CliRun> => cli(args, env);

beforeAll(async () => {
  env = environmentOf(namespace);
  topic = await createTopic(uniqueName('cli'), { partitions: 2 });
  await produce(
    topic,
    [1, 2, 3].map((n) => ({ value: `good ${n}` })),
  );
  programs = startServices(env, { TIDEMARK_HANDLERS: HANDLERS });
  for (const program of programs) await program.logged('program.started');
  await waitFor(
    'a worker that announces its handlers',
    async () => (await run('job', 'submit', '--topic', topic, '--handler', 'picky', '--dry-run')).exitCode === 0,
    { timeoutMs: 60_000 },
  );
});

afterAll(async () => {
  await Promise.all(programs.map((program) => program.kill('SIGTERM')));
});

/** One line that says what, and no word of a stack trace. */
function expectFailure(result: CliRun, exitCode: number, message: RegExp): void {
  expect(result.notes.join('\n')).toMatch(message);
  expect(result.exitCode).toBe(exitCode);
  expect(result.notes).toHaveLength(1);
  expect(result.notes[0]).toMatch(/^tidemark: /);
  expect(result.notes[0]).not.toMatch(/internal error|\n\s+at /);
  expect(result.out).toEqual([]);
}

async function jobIds(): Promise<readonly string[]> {
  return (await run('job', 'list', '-o', 'jsonl')).out.map((line) => (JSON.parse(line) as { jobId: string }).jobId);
}

async function topics(): Promise<readonly string[]> {
  const admin = kafkaClient().admin();
  await admin.connect();
  try {
    return await admin.listTopics();
  } finally {
    await admin.disconnect();
  }
}

describe('jobs', () => {
  it('a topic that does not exist: exit 3, no job, and the topic is not created', async () => {
    const missing = uniqueName('missing');
    expectFailure(
      await run('job', 'submit', '--topic', missing, '--handler', 'count', '--id', 'on-nothing'),
      3,
      new RegExp(`topic ${missing} does not exist`),
    );
    expectFailure(await run('window', missing), 3, /does not exist/);
    expectFailure(await run('topic', 'read', missing), 3, /does not exist/);
    expect(await topics()).not.toContain(missing);
    expect(await jobIds()).not.toContain('on-nothing');
  });

  it('a handler that no worker has announced: exit 3, and the known ones are named', async () => {
    const submit = ['job', 'submit', '--topic', topic, '--handler', 'nobody', '--id', 'for-nobody'];
    expectFailure(await run(...submit), 3, /handler nobody .*known are .*count.*picky/);
    expect(await jobIds()).not.toContain('for-nobody');
  });

  it('a handler that is not idempotent, without consent to duplicates: exit 2', async () => {
    expectFailure(
      await run('job', 'submit', '--topic', topic, '--handler', 'once', '--id', 'once-1'),
      2,
      /not idempotent.*--accept-duplicates/,
    );
    expect(await jobIds()).not.toContain('once-1');
  });

  it.each(['show', 'watch', 'wait', 'pause', 'resume', 'cancel', 'kill'])(
    'job %s of a job that is not known: exit 3',
    async (command) => {
      expectFailure(
        await run('job', command, 'never-heard-of'),
        3,
        /no job never-heard-of is known.* may have been removed/,
      );
    },
  );

  it.each([
    ['offsets', '0:2', '0:1'],
    ['instants', '2026-03-02T00:00:00Z', '2026-03-01T00:00:00Z'],
    ['now and an offset before', 'now', '0:0'],
  ])('the end before the start, as %s: exit 2', async (_what, from, to) => {
    expectFailure(await run('window', topic, '--from', from, '--to', to), 2, /end .* is before/);
    expectFailure(
      await run(
        'job',
        'submit',
        '--topic',
        topic,
        '--handler',
        'count',
        '--id',
        'backwards',
        '--from',
        from,
        '--to',
        to,
      ),
      2,
      /end .* is before/,
    );
    expect(await jobIds()).not.toContain('backwards');
  });

  it('C3: seconds, and an instant without a zone: exit 2 with a hint', async () => {
    expectFailure(await run('window', topic, '--from', '1700000000'), 2, /looks like epoch seconds/);
    expectFailure(await run('window', topic, '--from', '2023-11-14T22:13:20'), 2, /has no zone/);
  });

  it('a partition that the topic has not: exit 3', async () => {
    expectFailure(await run('window', topic, '--from', '7:0', '--to', '7:1'), 3, /has no partition 7/);
  });

  it('the same id with other content: exit 5, and the first job stays as it was; with the same content it is the same job', async () => {
    const submit = ['job', 'submit', '--topic', topic, '--handler', 'count', '--id', 'twice', '-o', 'json'];
    expect((await run(...submit)).exitCode).toBe(0);
    expectFailure(await run(...submit, '--chunk', '7'), 5, /job twice exists with other content/);
    const again = await run(...submit);
    expect(again.exitCode).toBe(0);
    const { created, request } = JSON.parse(again.out.join('')) as {
      created: boolean;
      request: { chunkRecords: number };
    };
    expect(created).toBe(false);
    expect(request.chunkRecords).toBe(1_000);
  });

  it('orders that a finished job cannot follow: exit 5, naming its state', async () => {
    await run('job', 'submit', '--topic', topic, '--handler', 'count', '--id', 'over');
    await run('job', 'wait', 'over', '--timeout', '120');
    expectFailure(await run('job', 'cancel', 'over'), 5, /job over is COMPLETED \(clean\): it is over already/);
    expectFailure(await run('job', 'pause', 'over'), 5, /COMPLETED \(clean\): it is over already/);
    expectFailure(await run('job', 'kill', 'over', '--yes'), 5, /COMPLETED \(clean\): it is over already/);
    expectFailure(await run('job', 'resume', 'over'), 5, /COMPLETED/);
    expectFailure(await run('job', 'resume', 'over', '--max-chunks', '9'), 5, /COMPLETED/);
  });

  it('limits and an ordering that a request must not have: exit 2, all named at once', async () => {
    const submit = ['job', 'submit', '--topic', topic, '--handler', 'count', '--id', 'unlimited'];
    expectFailure(
      await run(...submit, '--concurrency', '100000', '--parked-max', '1000000'),
      2,
      /concurrency 100000 is not between .*; parkedMax 1000000 is not between/,
    );
    expectFailure(await run(...submit, '--ordering', 'key', '--ranges-per-partition', '2'), 2, /needs ordering none/);
    expect(await jobIds()).not.toContain('unlimited');
  });

  it('a window after a job that is not known: exit 3', async () => {
    expectFailure(
      await run('window', topic, '--from', 'after:never-heard-of'),
      3,
      /no job never-heard-of is known \(one that ended long ago may have been removed\); name the offset or the instant to begin at/,
    );
  });

  it('a window after a job of another topic, or after one that was cancelled: exit 5, and what to do instead', async () => {
    const other = await createTopic(uniqueName('cli-other'));
    await produce(other, [{ value: 'one' }]);
    const wait = ['--handler', 'nobody', '--allow-unknown-handler', '--id', 'given-up'];
    expect((await run('job', 'submit', '--topic', other, ...wait)).exitCode).toBe(0);
    const after = (on: string): Promise<CliRun> => run('window', on, '--from', 'after:given-up');
    expectFailure(await after(other), 5, /job given-up is RUNNING; .*: wait for that, or name the offset/);
    expect((await run('job', 'cancel', 'given-up', '--yes')).exitCode).toBe(0);
    expectFailure(await after(other), 5, /job given-up is CANCELLED.*: name the offset or the instant to begin at/);
    await run('job', 'submit', '--topic', other, '--handler', 'count', '--id', 'elsewhere');
    await run('job', 'wait', 'elsewhere', '--timeout', '120');
    expectFailure(await run('window', topic, '--from', 'after:elsewhere'), 5, /read topic .*; name the offset/);
  });

  it('a window that lies outside the log: clamped to nothing, and said', async () => {
    const beyond = await run('window', topic, '--from', '0:500', '--to', '0:900');
    expect(beyond.exitCode).toBe(0);
    expect(beyond.out.join('\n')).toMatch(
      /clamped: start 500 is beyond the log, which ends at 2; end 900 is beyond the log/,
    );
    expect(beyond.out.at(-1)).toBe('it would hold nothing of the log');
    const later = await run('window', topic, '--from', '2100-01-01T00:00:00Z');
    expect(later.out.join('\n')).toMatch(/0 +- +- +0 +0 +0 +empty/);
  });

  it('reading what is not there: exit 3 for a partition, 2 for what makes no sense', async () => {
    expectFailure(await run('topic', 'read', topic, '--partition', '7'), 3, /has no partition 7: it has 2/);
    expectFailure(await run('topic', 'read', topic, '--value-only'), 2, /needs --export FILE/);
    expectFailure(await run('topic', 'read', topic, '--export', '/no/such/folder/file'), 3, /folder .* does not exist/);
  });
});

describe('services that are down', () => {
  /** Nobody listens there: privileged, and not in use for anything. */
  const DEAD = '127.0.0.1:1';

  it.each([
    ['TIDEMARK_KAFKA', DEAD, ['window', 'any'], 'Kafka'],
    ['TIDEMARK_KAFKA', DEAD, ['job', 'list'], 'Kafka'],
    ['TIDEMARK_REGISTRY', `http://${DEAD}`, ['job', 'list'], 'the schema registry'],
    ['TIDEMARK_REDIS', `redis://:hidden@${DEAD}`, ['job', 'show', 'any'], 'Redis'],
    ['TIDEMARK_POSTGRES', `postgres://somebody:hidden@${DEAD}/app`, ['outbox', 'install'], 'Postgres'],
    ['TIDEMARK_POSTGRES', `postgres://somebody:hidden@${DEAD}/app`, ['relay', 'status'], 'Postgres'],
  ])(
    '%s: exit 6, the service named with its address and without its password',
    async (variable, address, args, name) => {
      const result = await cli(args, { ...env, [variable]: address });
      expectFailure(
        result,
        6,
        new RegExp(`${name} at 127.0.0.1:1 \\(${variable}\\) does not answer: connection refused`),
      );
      expect(result.notes.join('')).not.toContain('hidden');
    },
  );

  it('Postgres that refuses the login: exit 6, in its own words', async () => {
    const url = new URL(env.TIDEMARK_POSTGRES);
    url.pathname = '/no_such_database';
    expectFailure(
      await cli(['outbox', 'install'], { ...env, TIDEMARK_POSTGRES: url.href }),
      6,
      /database "no_such_database" does not exist/,
    );
  });
});

describe('outbox', () => {
  const schema = uniqueNamespace('cli_app');
  let client: Client;

  beforeAll(async () => {
    client = new Client(services().postgres);
    await client.connect();
    await client.query(
      `create schema ${schema}; create table ${schema}.loose (a int, b int); create table ${schema}.orders (id bigint primary key)`,
    );
  });

  afterAll(async () => {
    await client.query(`drop schema if exists ${schema} cascade; drop schema if exists ${namespace} cascade`);
    await client.end();
  });

  const triggers = async (table: string): Promise<number> => {
    const { rowCount } = await client.query(`select from pg_trigger where tgrelid = $1::regclass`, [
      `${schema}.${table}`,
    ]);
    return rowCount ?? 0;
  };

  it('attach before install: exit 3, and the way out', async () => {
    expectFailure(await run('outbox', 'attach', `${schema}.orders`, '--topic', topic), 3, /outbox install/);
  });

  it('a table without primary key and no key columns named: exit 5, and no trigger', async () => {
    expect((await run('outbox', 'install')).exitCode).toBe(0);
    expectFailure(await run('outbox', 'attach', `${schema}.loose`, '--topic', topic), 5, /no primary key/);
    expectFailure(
      await run('outbox', 'attach', `${schema}.loose`, '--topic', topic, '--key', 'a'),
      5,
      /must be NOT NULL and have a unique constraint/,
    );
    expect(await triggers('loose')).toBe(0);
  });

  it.each(['attach', 'detach'])(
    '%s of a table that is not there: exit 3, with the database and the way out',
    async (verb) => {
      const to = verb === 'attach' ? ['--topic', topic] : [];
      for (const table of ['nosuch', `${schema}.nosuch`, 'no_such_schema.orders'])
        expectFailure(
          await run('outbox', verb, table, ...to),
          3,
          new RegExp(`no table ${table} in database "tidemark" .*write it as schema\\.table.*TIDEMARK_POSTGRES`),
        );
    },
  );

  it('a column or a topic that is not there: exit 3, and no trigger', async () => {
    expectFailure(await run('outbox', 'attach', `${schema}.orders`, '--topic', topic, '--key', 'nope'), 3, /no column/);
    expectFailure(
      await run('outbox', 'attach', `${schema}.orders`, '--topic', uniqueName('missing')),
      3,
      /does not exist/,
    );
    expectFailure(await run('outbox', 'detach', `${schema}.orders`), 3, /not attached/);
    expect(await triggers('orders')).toBe(0);
  });

  it('a topic of ours: refused, and no trigger', async () => {
    const { exitCode } = await run('outbox', 'attach', `${schema}.orders`, '--topic', `${namespace}.jobs`);
    expect(exitCode).not.toBe(0);
    expect(await triggers('orders')).toBe(0);
  });

  it('a refused table leaves no topic behind, and neither does a dry run; then the topic is made and the table attached', async () => {
    const created = uniqueName('cli-created');
    const attach = (table: string, ...more: readonly string[]): Promise<CliRun> =>
      run('outbox', 'attach', `${schema}.${table}`, '--topic', created, '--create-topic', '3', ...more);
    expectFailure(await attach('loose'), 5, /no primary key/);
    expect((await attach('orders', '--dry-run')).exitCode).toBe(0);
    expect(await topics()).not.toContain(created);
    expect(await triggers('orders')).toBe(0);
    expect((await attach('orders')).exitCode).toBe(0);
    expect(await topics()).toContain(created);
    expect(await triggers('orders')).toBeGreaterThan(0);
    expect((await run('outbox', 'detach', `${schema}.orders`)).exitCode).toBe(0);
  });

  it('a dry run changes nothing; the real one attaches, and detach takes it back', async () => {
    expect((await run('outbox', 'attach', `${schema}.orders`, '--topic', topic, '--dry-run')).exitCode).toBe(0);
    expect(await triggers('orders')).toBe(0);
    expect((await run('outbox', 'attach', `${schema}.orders`, '--topic', topic)).exitCode).toBe(0);
    expect(await triggers('orders')).toBeGreaterThan(0);
    expect((await cli(['outbox', 'detach', `${schema}.orders`], env, { answer: false })).exitCode).toBe(1);
    expect(await triggers('orders')).toBeGreaterThan(0);
    expect((await run('outbox', 'detach', `${schema}.orders`)).exitCode).toBe(0);
    expect(await triggers('orders')).toBe(0);
  });
});
