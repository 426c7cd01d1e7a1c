/** Tells the rows that a table had before it was attached. The work and its place are the database's: see 0007-bootstrap.sql. */
import { backoff, checkNamespace, codeOf, ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import type { Client } from 'pg';
import { type Bootstrap, nextChunkRows, rowsAllowed } from '../../bootstrap.ts';
import {
  BOOTSTRAP_BACKLOG_LOOK_MS,
  BOOTSTRAP_BACKLOG_ROWS,
  BOOTSTRAP_PATIENCE_MS,
  BOOTSTRAP_PAUSES,
  BOOTSTRAP_ROWS,
  BOOTSTRAP_STATEMENT_MS_MAX,
} from '../../limits.ts';
import { quoteIdentifier } from '../../quoting.ts';
import { asTidemark, requireTable, type TableName, toRefusal } from './attach.ts';
import { bootstrapOf, bootstrapsQuery } from './bootstrap-progress.ts';

export interface BootstrapOptions extends TableName {
  /** Tells all rows again, also after the end. */
  readonly restart?: boolean;
  /** Of one chunk, at most. */
  readonly rowsMax?: number;
  /** It waits while more rows than that are not published yet. */
  readonly backlogRowsMax?: number;
  /** Gives up after so long without a step. */
  readonly patienceMs?: number;
  /** Stops it after the chunk; it can go on at any time. */
  readonly signal?: AbortSignal;
  readonly onStep?: (bootstrap: Bootstrap) => void;
  /** Every time that it must wait. */
  readonly onWait?: (why: string) => void;
}

/**
 * Goes on where an earlier run stands, whatever ended it. Several at once share the work. The client must not be inside a
 * transaction. Throws TidemarkError `config` for a table that it cannot be done for, `unavailable` when it ran out of patience.
 */
export async function bootstrapTable(client: Client, options: BootstrapOptions): Promise<Bootstrap> {
  const { table, signal, rowsMax = BOOTSTRAP_ROWS, patienceMs = BOOTSTRAP_PATIENCE_MS } = options;
  const { onStep = () => {}, onWait = () => {} } = options;
  const steps = await stepsOf(client, options);
  let rows = rowsMax;
  let allowed = 0;
  let failures = 0;
  let movedAtMs = performance.now();

  async function waitFor(why: TidemarkError, ms: number): Promise<void> {
    if (performance.now() - movedAtMs > patienceMs) throw why;
    onWait(why.message);
    await sleep(ms, signal);
  }

  /** Whoever waited for the locks of this try gets them first. */
  async function giveWay(error: unknown): Promise<void> {
    if (!isBusy(error)) throw error;
    failures += 1;
    await waitFor(busy(error), backoff({ ...BOOTSTRAP_PAUSES, attempt: failures, random: Math.random }));
  }

  /** The chunk of another that does the same holds the place that this one begins at. */
  async function start(): Promise<Bootstrap> {
    for (;;) {
      try {
        return await steps.start();
      } catch (error) {
        if (signal?.aborted === true) throw error;
        await giveWay(error);
      }
    }
  }

  let bootstrap = await start();
  failures = 0;
  movedAtMs = performance.now();
  onStep(bootstrap);
  while (bootstrap.finishedAtMs === null && signal?.aborted !== true) {
    if (allowed < 1) {
      const backlog = await steps.backlog();
      allowed = rowsAllowed(backlog);
      if (allowed === 0) await waitFor(relayIsBehind(table, backlog), BOOTSTRAP_BACKLOG_LOOK_MS);
      continue;
    }
    const startedAtMs = performance.now();
    const asked = Math.min(rows, allowed);
    try {
      const before = bootstrap.rowsTold;
      bootstrap = await steps.chunk(asked);
      allowed -= Math.max(1, Number(bootstrap.rowsTold - before));
      rows = nextChunkRows({ rows, tookMs: performance.now() - startedAtMs }, rowsMax);
      failures = 0;
      movedAtMs = performance.now();
      onStep(bootstrap);
    } catch (error) {
      rows = nextChunkRows({ rows: asked, tookMs: null }, rowsMax);
      await giveWay(error);
    }
  }
  return bootstrap;
}

interface Backlog {
  readonly backlogRows: number;
  readonly backlogRowsMax: number;
  /** Somebody publishes. */
  readonly hasRelay: boolean;
}

interface Steps {
  start(): Promise<Bootstrap>;
  chunk(rows: number): Promise<Bootstrap>;
  backlog(): Promise<Backlog>;
}

async function stepsOf(client: Client, options: BootstrapOptions): Promise<Steps> {
  const { namespace, table, restart = false, backlogRowsMax = BOOTSTRAP_BACKLOG_ROWS } = options;
  const schema = quoteIdentifier(checkNamespace(namespace));
  const oid = await asTidemark(client, async () => {
    await requireTable(client, table);
    const { rows } = await client.query<{ oid: number }>('select $1::text::regclass::oid as oid', [table]);
    return rows[0]?.oid ?? 0;
  });
  // By its number, so that the walk goes on when the table is renamed.
  const target = `${oid}::oid::regclass`;
  return {
    start: () =>
      asTidemark(client, async () =>
        onlyBootstrap(
          await client.query(bootstrapsQuery(schema, `${schema}.bootstrap_start(${target}, ${restart})`)).catch(refuse),
        ),
      ),
    chunk: (rowsMax) =>
      asTidemark(client, async () => {
        const chunk = bootstrapsQuery(schema, `${schema}.bootstrap_chunk(${target}, ${rowsMax})`);
        return onlyBootstrap(await inOneTrip(client, chunk).catch(refuse));
      }),
    backlog: () =>
      asTidemark(client, async () => {
        const found = await client.query<{ rows: number; has_relay: boolean }>(backlogQuery(schema), [
          backlogRowsMax + 1,
        ]);
        const row = found.rows[0];
        return { backlogRows: row?.rows ?? 0, backlogRowsMax, hasRelay: row?.has_relay === true };
      }),
  };
}

/**
 * The whole transaction is one message, so that a client that dies at any point leaves no transaction that is open and
 * holds locks. It reads rows after having waited for them, whatever isolation the role prefers.
 */
async function inOneTrip(client: Client, query: string): Promise<QueryAnswer> {
  const settings = `set local statement_timeout = ${BOOTSTRAP_STATEMENT_MS_MAX}`;
  try {
    // Several statements are answered by several results, which the types do not know.
    const results: unknown = await client.query(`begin isolation level read committed; ${settings}; ${query}; commit`);
    return (results as readonly QueryAnswer[])[2] ?? { rows: [] };
  } catch (error) {
    await client.query('rollback').catch(() => {});
    throw error;
  }
}

interface QueryAnswer {
  readonly rows: readonly unknown[];
}

function onlyBootstrap({ rows }: QueryAnswer): Bootstrap {
  const row = rows[0];
  if (row === undefined) throw new Error('the bootstrap answered no row');
  return bootstrapOf(row as Parameters<typeof bootstrapOf>[0]);
}

/** By what the relay has told the database, which is a second old; no more than the limit are counted. */
function backlogQuery(schema: string): string {
  return `
    select count(*)::int as rows, exists (select from ${schema}.relays where expires_at > clock_timestamp()) as has_relay
    from (select from ${schema}.outbox
          where (select published from ${schema}.relays) is null
            or txid >= (select pg_snapshot_xmax(published) from ${schema}.relays)
            or txid in (select pg_snapshot_xip(published) from ${schema}.relays)
          limit $1) as waiting`;
}

/** Locked rows, deadlocks, a row that has moved to another partition meanwhile, a chunk that took too long. */
const BUSY_STATES: ReadonlySet<string | undefined> = new Set(['55P03', '40P01', '40001', '57014']);

function isBusy(error: unknown): error is TidemarkError {
  return error instanceof TidemarkError && BUSY_STATES.has(codeOf(error.cause));
}

function busy(error: TidemarkError): TidemarkError {
  return new TidemarkError({ code: 'TABLE_BUSY', class: ErrorClass.unavailable, message: error.message, cause: error });
}

function relayIsBehind(table: string, { backlogRowsMax, backlogRows, hasRelay }: Backlog): TidemarkError {
  const waiting = `${backlogRows > backlogRowsMax ? `more than ${backlogRowsMax}` : backlogRows} rows wait to be published`;
  return new TidemarkError({
    code: 'RELAY_BEHIND',
    class: ErrorClass.unavailable,
    message: `the bootstrap of ${table} waits for the relay: ${waiting}${hasRelay ? '' : ', and nobody publishes; start one: tidemark relay run'}`,
  });
}

function refuse(error: unknown): never {
  throw toRefusal(error);
}
