/** The OutboxReader over Postgres. The protocol is explained in the room's README. */
import { codeOf, describeError, ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import type { ClientBase } from 'pg';
import { type DatabaseState, parseTimelineHistory, type TimelineFork } from '../../identity.ts';
import {
  BACKLOG_COUNT_MAX,
  BLOCKER_AGE_MS,
  BLOCKERS_NAMED_MAX,
  FLUSH_NUDGE_AFTER_MS,
  FLUSH_POLL_MS,
  FLUSH_WAIT_MS_MAX,
} from '../../limits.ts';
import { type Lsn, lsnValue } from '../../lsn.ts';
import type {
  Backlog,
  Blocker,
  FoundPartition,
  KeyPart,
  KeyTail,
  OutboxReader,
  RetryWish,
  UntoldTable,
} from '../../ports.ts';
import type { DatabaseIdentity, PublishedPlace, TakenSnapshot } from '../../position.ts';
import { parseSnapshot, type Snapshot, snapshotText } from '../../snapshot.ts';
import { readBootstraps } from './bootstrap-progress.ts';
import { cleanUp } from './cleanup.ts';
import type { Database, Session } from './database.ts';
import { checkInstalled } from './installed.ts';
import { one, oneOf } from './one-row.ts';
import { createPageReader } from './page.ts';
import { lowest, type Queries } from './queries.ts';
import { type OpenedWindow, openWindow } from './window-opening.ts';

/** Snapshots, pages and flushes go over one session; everything else over the pool. */
export function createPostgresReader(database: Database, session: Session, queries: Queries): OutboxReader {
  const pages = createPageReader(session, queries);
  const takenBy = new WeakMap<TakenSnapshot, { readonly client: ClientBase; readonly flushLsn: Lsn | undefined }>();

  async function open(client: ClientBase, after: Snapshot | undefined): Promise<OpenedWindow<TakenRow>> {
    const { positionBefore, firstRows, wasTooMuch } = pages;
    if (after !== undefined && positionBefore !== undefined && !wasTooMuch)
      return await pages.trying(() => openWindow(client, queries, { after, positionBefore, rowsMax: firstRows }));
    return { row: await one<TakenRow>(client, queries.takeSnapshot), rows: undefined, flushLsn: undefined };
  }

  return {
    checkInstalled: () => database.use((client) => checkInstalled(client, queries.namespace)),
    state: () => database.use((client) => readState(client, queries, database.address)),
    takeSnapshot: (after) =>
      session.use(async (client) => {
        const { row, rows, flushLsn } = await open(client, after);
        const taken: TakenSnapshot = { ...requirePrimary(row, database.address), identity: identityOf(row) };
        pages.noteLastPosition(taken.snapshot, BigInt(row.last_position));
        if (after !== undefined && rows !== undefined) pages.noteRows({ after, upTo: taken.snapshot }, rows);
        takenBy.set(taken, { client, flushLsn });
        return taken;
      }),
    readPage: (window, place, limits) => pages.read(window, place, limits),
    async flushed(taken) {
      const { client: takenOver, flushLsn } = takenBy.get(taken) ?? {};
      if (flushLsn !== undefined && lsnValue(flushLsn) >= lsnValue(taken.walInsertLsn)) return;
      await session.use((client) => {
        if (takenOver !== client) throw connectionReplaced(database.address);
        return waitForFlush(client, queries, taken.walInsertLsn, database.address);
      });
    },
    cleanup: (window, spared = [], goOnAt) =>
      database.usePatiently((client) => cleanUp(client, queries, { window, spared, goOnAt })),
    readTails: (published, tails, limits) => pages.readTails(published, tails, limits),
    countTails: (published, tails) => database.usePatiently((client) => countTails(client, queries, published, tails)),
    removePublished: (published, parts) =>
      database.usePatiently((client) => removePublished(client, queries, published, parts)),
    askRetry: ({ topic, key }) =>
      database.use(async (client) => void (await client.query(queries.askRetry, [topic, key]))),
    takeRetries: () => database.use(async (client) => (await client.query<RetryWish>(queries.takeRetries)).rows),
    backlog: (published) => database.usePatiently((client) => countBacklog(client, queries, published)),
    blockers: (openForMs = BLOCKER_AGE_MS) => database.use((client) => readBlockers(client, queries, openForMs)),
    async bootstraps() {
      const all = await database.use((client) => readBootstraps(client, queries.schema));
      return all.filter(({ finishedAtMs, isOutdated }) => finishedAtMs === null && !isOutdated);
    },
    guardPartitions: () => guardPartitions(database, queries),
    untoldTables: () => database.use(async (client) => (await client.query<UntoldTable>(queries.untoldTables)).rows),
  };
}

interface SnapshotRow {
  readonly in_recovery: boolean;
  readonly snapshot: string | null;
  readonly wal_insert_lsn: string | null;
  readonly timeline_hex: string;
  readonly system_identifier: string;
}

type TakenRow = SnapshotRow & { readonly last_position: string };

function identityOf(row: SnapshotRow): DatabaseIdentity {
  return { systemIdentifier: row.system_identifier, timeline: Number.parseInt(row.timeline_hex, 16) };
}

function requirePrimary(row: SnapshotRow, address: string): { snapshot: Snapshot; walInsertLsn: Lsn } {
  if (row.in_recovery || row.snapshot === null || row.wal_insert_lsn === null) {
    throw new TidemarkError({
      code: 'STANDBY',
      class: ErrorClass.config,
      message: `Postgres at ${address} is a standby: its snapshots do not tell which transactions are still open, so rows would be lost. Point the relay at the primary`,
    });
  }
  return { snapshot: parseSnapshot(row.snapshot), walInsertLsn: row.wal_insert_lsn };
}

interface StateRow extends SnapshotRow {
  readonly from_the_future: boolean;
}

async function readState(client: ClientBase, queries: Queries, address: string): Promise<DatabaseState> {
  const row = await one<StateRow>(client, queries.state);
  const taken = requirePrimary(row, address);
  return {
    ...taken,
    identity: identityOf(row),
    hasRowsFromTheFuture: row.from_the_future,
    forks: await readForks(client, queries, row.timeline_hex),
  };
}

/** Undefined when the role may not read files of the server. The first timeline has no history. */
async function readForks(
  client: ClientBase,
  queries: Queries,
  timelineHex: string,
): Promise<readonly TimelineFork[] | undefined> {
  try {
    const row = await one<{ history: string | null }>(client, queries.timelineHistory, [timelineHex]);
    return parseTimelineHistory(row.history ?? '');
  } catch (error) {
    if (codeOf(error) === '42501') return undefined;
    throw error;
  }
}

/**
 * A crash ends every connection, and the log that follows it may pass the same place with other records. Only a
 * connection that has lived since the snapshot proves that no crash came between.
 */
function connectionReplaced(address: string): TidemarkError {
  return new TidemarkError({
    code: 'CONNECTION_REPLACED',
    class: ErrorClass.transient,
    message: `Postgres at ${address}: the connection that took the snapshot has ended, so a crash cannot be told from a cut`,
  });
}

/** After a crash Postgres hands out again the transaction ids that are in no flushed record, so a position must not outrun the flush. */
async function waitForFlush(client: ClientBase, queries: Queries, lsn: Lsn, address: string): Promise<void> {
  const target = lsnValue(lsn);
  const startedMs = performance.now();
  let nudged = false;
  while (performance.now() - startedMs < FLUSH_WAIT_MS_MAX) {
    const row = await one<{ lsn: string }>(client, queries.flushLsn);
    if (lsnValue(row.lsn) >= target) return;
    if (!nudged && performance.now() - startedMs >= FLUSH_NUDGE_AFTER_MS) {
      nudged = true;
      await client.query(queries.flushNow);
    } else {
      await sleep(FLUSH_POLL_MS);
    }
  }
  throw new TidemarkError({
    code: 'POSTGRES_DOES_NOT_FLUSH',
    class: ErrorClass.unavailable,
    message: `Postgres at ${address} has not flushed its log up to ${lsn} within ${FLUSH_WAIT_MS_MAX} ms`,
  });
}

async function countBacklog(client: ClientBase, queries: Queries, published: PublishedPlace): Promise<Backlog> {
  const row = await oneOf<{ rows: number; lag_ms: number | null }>(client, queries.backlog(published));
  const lagMs = row.lag_ms === null ? null : Math.max(0, Math.round(row.lag_ms));
  return { rows: row.rows, isAtLeast: row.rows >= BACKLOG_COUNT_MAX, lagMs };
}

function arraysOf(tails: readonly KeyTail[]): readonly (readonly string[])[] {
  return [tails.map(({ topic }) => topic), tails.map(({ key }) => key), tails.map(({ position }) => String(position))];
}

async function countTails(
  client: ClientBase,
  queries: Queries,
  { snapshot, window }: PublishedPlace,
  tails: readonly KeyTail[],
): Promise<readonly number[]> {
  if (tails.length === 0) return [];
  const { rows } = await client.query<{ number: number; rows: number }>(queries.countTails, [
    snapshotText(snapshot),
    String(lowest(tails)),
    ...arraysOf(tails),
    snapshotText(window?.upTo ?? snapshot),
    String(window?.place ?? 0n),
  ]);
  const counts = new Map(rows.map((row) => [row.number, row.rows]));
  return tails.map((_, index) => counts.get(index + 1) ?? 0);
}

/** Durable whatever the role's settings are: what is told to Kafka next rests on it. */
async function removePublished(
  client: ClientBase,
  queries: Queries,
  published: Snapshot,
  parts: readonly KeyPart[],
): Promise<void> {
  await client.query('begin; set local synchronous_commit = on');
  await client.query(queries.removePublished, [
    snapshotText(published),
    String(lowest(parts)),
    ...arraysOf(parts),
    parts.map(({ below }) => below?.toString() ?? null),
  ]);
  await client.query('commit');
}

interface BlockerRow {
  readonly pid: number | null;
  readonly prepared_as: string | null;
  readonly application: string;
  readonly user_name: string;
  readonly state: string;
  readonly age_ms: number;
}

async function readBlockers(client: ClientBase, queries: Queries, openForMs: number): Promise<readonly Blocker[]> {
  const { rows } = await client.query<BlockerRow>(queries.blockers, [openForMs, BLOCKERS_NAMED_MAX]);
  return rows.map((row) => ({
    pid: row.pid,
    preparedAs: row.prepared_as,
    application: row.application,
    user: row.user_name,
    state: row.state,
    ageMs: Math.round(row.age_ms),
  }));
}

/** One by one: each waits shortly for the lock of its partition, and a role that may not alter one may alter another. */
async function guardPartitions(database: Database, queries: Queries): Promise<readonly FoundPartition[]> {
  const { rows } = await database.use((client) => client.query<{ partition: string }>(queries.unguardedPartitions));
  const found: FoundPartition[] = [];
  for (const { partition } of rows) {
    const fault = await database
      .use((client) => client.query(queries.guardTruncate, [partition]))
      .then(() => undefined, describeError);
    found.push({ partition, fault });
  }
  return found;
}
