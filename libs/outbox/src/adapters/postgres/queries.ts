/** The SQL that the relay runs, in one place. Numbers of 64 bits are cast to text where the driver would not do it. */
import { checkNamespace } from '@tidemark/keyspace';
import { BACKLOG_COUNT_MAX, CLEANUP_ROWS_MAX } from '../../limits.ts';
import type { KeyTail } from '../../ports.ts';
import type { PublishedPlace } from '../../position.ts';
import { quoteIdentifier, quoteLiteral } from '../../quoting.ts';
import { type Snapshot, type SnapshotWindow, snapshotText } from '../../snapshot.ts';

export type Queries = ReturnType<typeof relayQueries>;

export function relayQueries(namespace: string) {
  const schema = quoteIdentifier(checkNamespace(namespace));
  return {
    namespace,
    schema,
    takeSnapshot: `
      select ${MOMENT},
        (select last_value::text from ${schema}.outbox_position_seq) as last_position`,

    // Finds nothing when more than the bound was drawn since: a sort of it would be for nothing.
    takeSnapshotAndRows(after: Snapshot, { positionMax, rowsMax }: { positionMax: bigint; rowsMax: number }): string {
      // By the function, not from the sequence: that would be a sequential scan, which is switched off here.
      const drawn = `pg_sequence_last_value(${regclass(schema, 'outbox_position_seq')})`;
      const isWithin = `(select coalesce(${drawn}, 1)) <= ${positionMax}`;
      return `begin isolation level repeatable read read only; ${this.takeSnapshot};
        ${declareRows(schema, BY_TXID, [isWithin, endedByNow(after)], SORTED)};
        ${this.fetchPage(rowsMax)}; commit;
        select case when pg_is_in_recovery() then null else pg_current_wal_flush_lsn()::text end as flush_lsn,
          (${this.lastPosition}) as last_position`;
    },

    lastPosition: `select last_value::text as last_position from ${schema}.outbox_position_seq`,

    state: `
      select ${MOMENT},
        -- Not "exists", which would forget the order that leads to the index.
        (select txid from ${schema}.outbox where txid >= pg_snapshot_xmax(pg_current_snapshot()) order by txid limit 1)
          is not null as from_the_future`,

    timelineHistory: `select pg_read_file('pg_wal/' || $1 || '.history', 0, 1000000, true) as history`,

    firstPosition: `select min(position)::text as first from ${schema}.outbox where position > $1`,

    flushLsn: `select pg_current_wal_flush_lsn()::text as lsn`,
    // A commit that has written something flushes the log up to itself.
    flushNow: `begin; set local synchronous_commit = on;
      select pg_logical_emit_message(true, 'tidemark.flush', ''); commit`,

    // A window is found by the index on txid, so that its first rows cost nothing of what lies dead before them.
    cleanupFirst: (window: SnapshotWindow, spared: readonly KeyTail[]): string =>
      remove(
        schema,
        BY_TXID,
        `select position from ${schema}.outbox as passed where ${isLeft(window, spared)} limit ${CLEANUP_ROWS_MAX}`,
      ),
    // A large window goes on in the order of position: by txid each batch would pass what the ones before it have removed.
    cleanupFrom: (window: SnapshotWindow, spared: readonly KeyTail[], position: bigint): string =>
      remove(
        schema,
        IN_POSITION_ORDER,
        `select position from ${schema}.outbox as passed where position >= ${position} and ${isLeft(window, spared)}
         order by passed.position limit ${CLEANUP_ROWS_MAX}`,
      ),

    countTails: `
      select tail.number::int as number, count(*)::int as rows
      from ${TAILS} join ${schema}.outbox as waiting
        on waiting.topic = tail.topic and waiting.key = tail.key and waiting.position >= tail.position
      where waiting.position >= $2::bigint
        and ((waiting.txid < pg_snapshot_xmax($1::pg_snapshot) and pg_visible_in_snapshot(waiting.txid, $1::pg_snapshot))
          or (waiting.position <= $7::bigint and pg_visible_in_snapshot(waiting.txid, $6::pg_snapshot)))
      group by tail.number`,

    removePublished: `
      delete from ${schema}.outbox as published
      using unnest($3::text[], $4::text[], $5::bigint[], $6::bigint[]) as tail (topic, key, position, below)
      where published.topic = tail.topic and published.key = tail.key and published.position >= tail.position
        and published.position >= $2::bigint and (tail.below is null or published.position < tail.below)
        and published.txid < pg_snapshot_xmax($1::pg_snapshot) and pg_visible_in_snapshot(published.txid, $1::pg_snapshot)`,

    askRetry: `insert into ${schema}.relay_retries (topic, key) values ($1, $2)`,
    takeRetries: `delete from ${schema}.relay_retries returning topic, key`,

    // Of a window that is half published the rows behind its place wait. By the index, also where the server knows little of
    // the newest transactions: what is published, and lies dead, would cost the more the less waits.
    backlog: ({ snapshot, window }: PublishedPlace): string =>
      `begin isolation level read committed read only; ${BY_TXID};
        select count(*)::int as rows, (extract(epoch from clock_timestamp() - min(occurred_at)) * 1000)::float8 as lag_ms
        from (select occurred_at from ${schema}.outbox
              where ${endedByNow(snapshot)}${window === undefined ? '' : ` and not (position <= ${window.place} and ${visibleIn(window.upTo)})`}
              limit ${BACKLOG_COUNT_MAX}) as waiting;
        commit`,

    // Whoever wrote to the outbox holds ROW EXCLUSIVE on it until the end of the transaction. The locks of a prepared
    // transaction have no session; the one on its own id leads to its name.
    blockers: `
      select held.pid, prepared.gid as prepared_as, coalesce(activity.application_name, '') as application,
        coalesce(activity.usename::text, prepared.owner::text, '') as user_name,
        coalesce(activity.state, 'prepared') as state,
        (extract(epoch from clock_timestamp() - coalesce(activity.xact_start, prepared.prepared)) * 1000)::float8 as age_ms
      from (select distinct pid, virtualtransaction from pg_locks
            where locktype = 'relation' and relation = ${regclass(schema, 'outbox')} and mode = 'RowExclusiveLock' and granted
              and pid is distinct from pg_backend_pid()
              and database = (select oid from pg_database where datname = current_database())) as held
      left join pg_stat_activity as activity on activity.pid = held.pid
      left join pg_locks as own on held.pid is null and own.pid is null
        and own.locktype = 'transactionid' and own.virtualtransaction = held.virtualtransaction
      left join pg_prepared_xacts as prepared on prepared.transaction = own.transactionid
      where clock_timestamp() - coalesce(activity.xact_start, prepared.prepared) > $1 * interval '1 millisecond'
      order by age_ms desc limit $2`,

    acquireLease: `
      insert into ${schema}.relays as held (name, owner, term, expires_at)
        values ($1, $2, 1, clock_timestamp() + $3 * interval '1 millisecond')
      on conflict (name) do update
        set owner = excluded.owner, term = held.term + (held.owner <> excluded.owner)::int, expires_at = excluded.expires_at
        where held.owner = excluded.owner or held.expires_at < clock_timestamp()
      returning term::text as term, published::text as published`,

    leaseHolder: `
      select owner, (extract(epoch from expires_at - clock_timestamp()) * 1000)::float8 as expires_in_ms
      from ${schema}.relays where name = $1 and expires_at > clock_timestamp()`,

    recordPublished: `update ${schema}.relays set published = $3::pg_snapshot where name = $1 and owner = $2`,
    releaseLease: `update ${schema}.relays set expires_at = clock_timestamp() where name = $1 and owner = $2`,

    relayNames: `select name from ${schema}.relays`,

    unguardedPartitions: `select part::regclass::text as partition from ${schema}.unguarded_partitions() as part`,
    untoldTables: `select part::text as table, fault from ${schema}.untold_tables()`,
    guardTruncate: `select ${schema}.guard_truncate($1::regclass)`,

    announceSleep: `
      insert into ${schema}.relay_sleep as note (asleep_until) values (clock_timestamp() + $1 * interval '1 millisecond')
      on conflict (only_row) do update set asleep_until = excluded.asleep_until`,
    announceAwake: `update ${schema}.relay_sleep set asleep_until = '-infinity' where asleep_until > clock_timestamp()`,
    listen: `listen ${quoteIdentifier(channelOf(namespace))}`,

    openSortedPage: (window: SnapshotWindow, place: bigint): string =>
      openCursor(schema, window, `position > ${place}`, BY_TXID),
    // In order of position by the primary key: whatever the statistics say, a sort of everything would be repeated a page.
    openScannedPage: (window: SnapshotWindow, bounds: { after: bigint; upTo: bigint }): string =>
      openCursor(schema, window, `position > ${bounds.after} and position <= ${bounds.upTo}`, IN_POSITION_ORDER),
    openTails: (published: PublishedPlace, tails: readonly KeyTail[]): string =>
      openRows(schema, IN_POSITION_ORDER, [
        `position >= ${lowest(tails)}`,
        isPublished(published),
        `(${tails.map(isInTail).join(' or ')})`,
      ]),
    fetchPage: (rows: number): string => `fetch ${rows} from page`,
    closePage: 'commit',
  };
}

export function channelOf(namespace: string): string {
  return `${namespace}.outbox`;
}

function regclass(schema: string, table: string): string {
  return `${quoteLiteral(`${schema}.${table}`)}::regclass`;
}

/**
 * The snapshot, and whose it is. The guards stand in the statement that takes it: a server may be demoted between two
 * statements. On a standby the list of running transactions is empty, so open ones would be taken for ended.
 */
const MOMENT = `pg_is_in_recovery() as in_recovery,
        case when pg_is_in_recovery() then null else pg_current_snapshot()::text end as snapshot,
        case when pg_is_in_recovery() then null else pg_current_wal_insert_lsn()::text end as wal_insert_lsn,
        case when pg_is_in_recovery() then null
          else left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) end as timeline_hex,
        (select system_identifier::text from pg_control_system()) as system_identifier`;

const BY_TXID = 'set local enable_seqscan = off';
const IN_POSITION_ORDER =
  'set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off';

/** As a relation: parameters 3 to 5. */
const TAILS = `unnest($3::text[], $4::text[], $5::bigint[]) with ordinality as tail (topic, key, position, number)`;

export function lowest(tails: readonly KeyTail[]): bigint {
  let low = tails[0]?.position ?? 0n;
  for (const { position } of tails) if (position < low) low = position;
  return low;
}

function visibleIn(seen: Snapshot): string {
  return `(txid < '${seen.xmax}'::xid8 and pg_visible_in_snapshot(txid, '${snapshotText(seen)}'::pg_snapshot))`;
}

/** Begins like `endedByNow`, for a newer snapshot that is known. */
function candidatesOf({ after, upTo }: SnapshotWindow): string {
  const ended = after.running.filter((txid) => !upTo.running.includes(txid));
  const wasRunning = ended.length === 0 ? '' : ` or txid in (${ended.map((txid) => `'${txid}'::xid8`).join(', ')})`;
  return `((txid >= '${after.xmax}'::xid8 and txid < '${upTo.xmax}'::xid8)${wasRunning})`;
}

function isLeft(window: SnapshotWindow, spared: readonly KeyTail[]): string {
  const isInWindow = `${candidatesOf(window)} and ${visibleIn(window.upTo)}`;
  if (spared.length === 0) return isInWindow;
  const array = (texts: readonly string[], type: string): string => `array[${texts.join(', ')}]::${type}[]`;
  // Positions of a key are drawn under its lock, so the tail of one holds whatever came after its first row.
  return `${isInWindow} and not exists (
    select from unnest(${array(
      spared.map(({ topic }) => quoteLiteral(topic)),
      'text',
    )}, ${array(
      spared.map(({ key }) => quoteLiteral(key)),
      'text',
    )},
      ${array(
        spared.map(({ position }) => String(position)),
        'bigint',
      )}) as tail (topic, key, position)
    where tail.topic = passed.topic and tail.key = passed.key and tail.position <= passed.position)`;
}

/** Whoever removes need not wait for the disk: after a crash the next one looks through everything. */
function remove(schema: string, settings: string, positions: string): string {
  return `begin isolation level read committed; set local synchronous_commit = off; ${settings};
    with removed as (delete from ${schema}.outbox where position in (${positions}) returning position)
      select count(*)::int as rows, min(position)::text as lowest, max(position)::text as highest from removed;
    commit`;
}

function isPublished({ snapshot, window }: PublishedPlace): string {
  const before = visibleIn(snapshot);
  if (window === undefined) return before;
  return `(${before} or (position <= ${window.place} and ${visibleIn(window.upTo)}))`;
}

function isInTail({ topic, key, position }: KeyTail): string {
  return `(topic = ${quoteLiteral(topic)} and key = ${quoteLiteral(key)} and position >= ${position})`;
}

function openCursor(schema: string, window: SnapshotWindow, range: string, settings: string): string {
  return openRows(schema, settings, [
    range,
    candidatesOf(window),
    `pg_visible_in_snapshot(txid, '${snapshotText(window.upTo)}'::pg_snapshot)`,
  ]);
}

/**
 * One round trip: the transaction, its settings and the cursor. The values stand in the text, because the extended
 * protocol allows one statement at a time. The order is qualified, because the bare name would be the text of the select
 * list, which sorts 10 before 9.
 */
function openRows(schema: string, settings: string, conditions: readonly string[]): string {
  return `begin isolation level read committed read only; ${declareRows(schema, settings, conditions)}`;
}

/** A sum, so that the server sorts what it found by txid: in the order of the primary key it would go through everything. */
const SORTED = 'outbox.position + 0';

/**
 * Of transactions that the older snapshot does not see and the one of the statement may. What still runs is left out: its
 * rows may be millions, are visible to nobody, and would be passed by every window until it ends.
 */
function endedByNow({ xmax, running }: Snapshot): string {
  const ended =
    running.length === 0
      ? ''
      : ` or txid = any (array(select ran from unnest('{${running.join(',')}}'::xid8[]) as ran
          where pg_visible_in_snapshot(ran, pg_current_snapshot())))`;
  return `(txid >= '${xmax}'::xid8${ended})`;
}

/** Whatever the costs are guessed to be, compiling takes longer than a page does (measured: a second). */
function declareRows(
  schema: string,
  settings: string,
  conditions: readonly string[],
  order = 'outbox.position',
): string {
  return `set local cursor_tuple_fraction = 1; set local jit = off; ${settings};
    declare page no scroll cursor for
      select position::text as position, id::text as id, topic, key, type, payload::text as payload, headers::text as headers,
        to_char(occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as occurred_at
      from ${schema}.outbox
      where ${conditions.join('\n        and ')}
      order by ${order}`;
}
