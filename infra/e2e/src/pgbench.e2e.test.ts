/** A load that nobody here wrote: pgbench's bank, whose every balance is the sum of its history. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { awaitState } from '@tidemark/control';
import { isTerminal } from '@tidemark/jobs';
import { attachTable, requestJob } from '@tidemark/outbox/postgres';
import { createTopic, postgresProgram, uniqueName, waitFor } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import { openInstallation, type TestInstallation } from './installation.ts';

const SCALE = 2;
const CLIENTS = 8;
const TRANSACTIONS = 500;
/** So that the load lasts long enough for two relays to be killed under it. */
const PER_SECOND = 300;

it('P1, P9: the history of pgbench adds up to its balances, each row once, per account in the order of the database', {
  timeout: 480_000,
}, async () => {
  const installation = await openInstallation('bank');
  const { namespace, client, databaseUrl, program } = installation;
  const pgbench = await postgresProgram('pgbench');
  await runToEnd(pgbench, ['--initialize', '--quiet', `--scale=${SCALE}`, databaseUrl]);
  const accounts = uniqueName('accounts');
  const history = uniqueName('history');
  await createTopic(accounts, { partitions: 3 });
  await createTopic(history, { partitions: 4 });
  await attachTable(client, { namespace, table: 'pgbench_accounts', topic: accounts });
  await attachTable(client, {
    namespace,
    table: 'pgbench_history',
    topic: history,
    keyColumns: ['aid'],
    appendOnly: true,
  });
  await client.query('create table seen_history (partition int, record_offset bigint, row jsonb)');
  await client.query('create table seen_accounts (partition int, record_offset bigint, row jsonb)');

  program('distributor');
  // Nobody kills it, and what a busy machine costs a living worker would be rows twice.
  program('worker', { TIDEMARK_HANDLERS: 'infra/e2e/src/ledger-handlers.ts', TIDEMARK_LEASE_TTL_MS: '240000' });
  let relay = program('relay');
  const size = [`--client=${CLIENTS}`, `--transactions=${TRANSACTIONS}`, `--rate=${PER_SECOND}`];
  const load = runToEnd(pgbench, ['--no-vacuum', '--jobs=2', ...size, databaseUrl]);
  for (const share of [0.3, 0.6]) {
    await untilRows(installation, share);
    await relay.kill('SIGKILL');
    relay = program('relay');
  }
  await load;

  await client.query('begin');
  const request = (topic: string, table: string) =>
    requestJob(client, {
      namespace,
      request: { topic, handler: 'e2e-ledger', parameters: { table }, acceptDuplicates: true },
    });
  const jobs = [await request(history, 'seen_history'), await request(accounts, 'seen_accounts')];
  await client.query('commit');
  for (const jobId of jobs) {
    const state = await awaitState(installation.jobLog, {
      jobId,
      until: (seen) => isTerminal(seen.state),
      timeoutMs: 120_000,
    });
    expect([state?.state, state?.reason]).toEqual(['COMPLETED', 'clean']);
  }

  expect(await count(installation, 'select count(*) as n from pgbench_history')).toBe(CLIENTS * TRANSACTIONS);
  expect(await rowsOf(installation, EACH_HISTORY_ROW_ONCE)).toEqual([]);
  expect(await rowsOf(installation, SUMS_OTHER_THAN_BALANCES)).toEqual([]);
  expect(await rowsOf(installation, BALANCES_OUT_OF_ORDER)).toEqual([]);
});

/** Rows that are in one of the two more often than in the other. */
const EACH_HISTORY_ROW_ONCE = `
  with seen as (
    select (row->>'tid')::int as tid, (row->>'bid')::int as bid, (row->>'aid')::int as aid, (row->>'delta')::int as delta,
           (row->>'mtime')::timestamp as mtime, count(*) as n
    from seen_history group by 1, 2, 3, 4, 5),
  there as (select tid, bid, aid, delta, mtime, count(*) as n from pgbench_history group by 1, 2, 3, 4, 5)
  select * from seen full join there using (tid, bid, aid, delta, mtime) where seen.n is distinct from there.n`;

const SUMS_OTHER_THAN_BALANCES = `
  with sums as (select (row->>'aid')::int as aid, sum((row->>'delta')::bigint) as total from seen_history group by 1)
  select aid, abalance, total from pgbench_accounts left join sums using (aid) where abalance <> coalesce(total, 0)`;

/** The k-th balance of an account in its topic is the sum of its first k deltas in theirs, so both lie in the order of its lock. */
const BALANCES_OUT_OF_ORDER = `
  with balances as (
    select (row->>'aid')::int as aid, (row->>'abalance')::bigint as balance,
           row_number() over (partition by row->>'aid' order by record_offset) as k
    from seen_accounts),
  sums as (
    select (row->>'aid')::int as aid, sum((row->>'delta')::bigint) over before as balance, row_number() over before as k
    from seen_history window before as (partition by row->>'aid' order by record_offset))
  select * from balances full join sums using (aid, k) where balances.balance is distinct from sums.balance`;

async function rowsOf({ client }: TestInstallation, sql: string): Promise<unknown[]> {
  return (await client.query(`${sql} limit 5`)).rows;
}

async function count({ client }: TestInstallation, sql: string): Promise<number> {
  return Number((await client.query<{ n: string }>(sql)).rows[0]?.n ?? 0);
}

async function untilRows(installation: TestInstallation, share: number): Promise<void> {
  await waitFor(`${share * 100} % of the load`, async () => {
    const rows = await count(installation, 'select count(*) as n from pgbench_history');
    return rows >= CLIENTS * TRANSACTIONS * share;
  });
}

async function runToEnd(command: string, args: readonly string[]): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (text: Buffer) => {
    errors = (errors + text.toString()).slice(-2_000);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${errors}`);
}
