/**
 * `bloat`: what days of traffic make of the outbox's table. Rows are written, published and removed, round after round,
 * while autovacuum works; for a third of the second day a transaction stays open, and vacuum can free nothing. A private
 * Postgres looks for work every second, and a round stands for minutes: what a real server would see in a day it has
 * some hundred looks at instead of 1,440, so sizes here are not smaller than there.
 */
import { NOTHING_VISIBLE, type OutboxReader, type Snapshot } from '@tidemark/outbox';
import { openPostgresOutbox } from '@tidemark/outbox/postgres';
import { openTestOutbox, type TestOutbox } from '@tidemark/outbox/testing';
import { privatePostgres, uniqueNamespace } from '@tidemark/testkit';
import { BLOAT_FLAT_RATIO, BLOAT_ROUNDS_PER_DAY, BLOAT_SAMPLES_PER_DAY, BLOAT_WAITING_ROWS } from './limits.ts';
import type { Progress } from './topic.ts';

export interface BloatOptions {
  readonly days: number;
  readonly rowsPerDay: number;
  readonly valueBytes: number;
  /** Storage parameters of the table in place of those it is installed with: `name=value,…`. */
  readonly storage: string | undefined;
  readonly progress: Progress;
}

interface Sample {
  readonly day: number;
  readonly held: boolean;
  readonly heap_mb: number;
  readonly index_mb: number;
  /** Of payloads that do not fit into a page. */
  readonly toast_mb: number;
  /** As the server counts them. */
  readonly live: number;
  readonly dead: number;
  readonly vacuums: number;
  /** The slowest clean-up since the last sample, of one round's rows. */
  readonly cleanup_ms: number;
  /** And the slowest insert of a round, which nothing should hold up. */
  readonly insert_ms: number;
}

export interface BloatReport {
  readonly work: 'bloat';
  readonly days: number;
  readonly rows_per_day: number;
  readonly storage: string;
  /** Heap, indexes and large payloads at most: before the transaction was left open, while it was, and from the third day on. */
  readonly mb_before: number;
  readonly mb_held: number;
  readonly mb_after: number;
  /** It does not go on growing: not in the second half of the time before, and what vacuum was kept from freeing comes back. */
  readonly flat: boolean;
  readonly samples: readonly Sample[];
}

export async function runBloat(options: BloatOptions): Promise<BloatReport> {
  const { days, rowsPerDay, storage, progress } = options;
  const postgres = await privatePostgres({ settings: { autovacuum_naptime: '1s' } });
  try {
    const outbox = await openTestOutbox({ url: postgres.address, namespace: uniqueNamespace('bloat') });
    if (storage !== undefined) await outbox.client.query(`alter table ${outbox.schema}.outbox set (${storage})`);
    const samples = await simulate(outbox, options);
    await outbox.drop();
    for (const sample of samples) progress(JSON.stringify(sample));
    return {
      work: 'bloat',
      days,
      rows_per_day: rowsPerDay,
      storage: storage ?? 'as installed',
      ...verdictOn(samples, days),
    };
  } finally {
    await postgres.stop();
  }
}

async function simulate(
  outbox: TestOutbox,
  { days, rowsPerDay, valueBytes, progress }: BloatOptions,
): Promise<readonly Sample[]> {
  const { url, namespace, schema, client } = outbox;
  const { reader, close } = openPostgresOutbox({ url, namespace, relay: 'main', owner: 'bench' });
  const holder = await outbox.connect();
  const rowsPerRound = Math.ceil(rowsPerDay / BLOAT_ROUNDS_PER_DAY);
  const roundsPerSample = Math.floor(BLOAT_ROUNDS_PER_DAY / BLOAT_SAMPLES_PER_DAY);
  const samples: Sample[] = [];
  const slowest = { cleanup_ms: 0, insert_ms: 0 };
  let published: Snapshot = NOTHING_VISIBLE;
  // A few rows wait with their key, as parked ones do, and are never removed.
  await insert(outbox, { key: 'waits', rows: BLOAT_WAITING_ROWS, valueBytes });
  try {
    for (let round = 1; round <= days * BLOAT_ROUNDS_PER_DAY; round += 1) {
      const day = (round - 1) / BLOAT_ROUNDS_PER_DAY;
      if (isBegin(day, HELD.from))
        await holder.query('begin isolation level repeatable read; select pg_current_snapshot()');
      if (isBegin(day, HELD.to)) await holder.query('commit');
      slowest.insert_ms = Math.max(
        slowest.insert_ms,
        await timed(() => insert(outbox, { key: 'key', rows: rowsPerRound, valueBytes })),
      );
      const { snapshot } = await reader.takeSnapshot();
      slowest.cleanup_ms = Math.max(slowest.cleanup_ms, await timed(() => cleanUp(reader, published, snapshot)));
      published = snapshot;
      if (round % roundsPerSample > 0) continue;
      samples.push({
        day: rounded(day),
        held: day >= HELD.from && day < HELD.to,
        ...(await sizes(outbox)),
        ...slowest,
      });
      Object.assign(slowest, { cleanup_ms: 0, insert_ms: 0 });
      progress(`day ${rounded(day)}`);
    }
    const { rows } = await client.query<{ n: number }>(`select count(*)::int as n from ${schema}.outbox`);
    if (rows[0]?.n !== BLOAT_WAITING_ROWS) throw new Error(`${rows[0]?.n} rows are left of ${BLOAT_WAITING_ROWS}`);
    return samples;
  } finally {
    await close();
  }
}

/** In days. */
const HELD = { from: 4 / 3, to: 5 / 3 } as const;

function isBegin(day: number, of: number): boolean {
  return day >= of && day - 1 / BLOAT_ROUNDS_PER_DAY < of;
}

/** In several transactions at once it would be the same for vacuum; in one it is quick. */
async function insert(
  { client, schema }: TestOutbox,
  { key, rows, valueBytes }: { readonly key: string; readonly rows: number; readonly valueBytes: number },
): Promise<void> {
  await client.query(
    // Random letters, which do not compress.
    `insert into ${schema}.outbox (topic, key, type, payload)
     select 't', $1, 'x', jsonb_build_object('n', i, 'pad', (select string_agg(md5(random()::text || g), '') from generate_series(1, $3::int / 32) g))
     from generate_series(1, $2::int) i`,
    [key, rows, valueBytes],
  );
}

async function cleanUp(reader: OutboxReader, after: Snapshot, upTo: Snapshot): Promise<void> {
  const spared = [{ topic: 't', key: 'waits', position: 1n }];
  let answer = await reader.cleanup({ after, upTo }, spared);
  while (answer.goOnAt !== undefined) answer = await reader.cleanup({ after, upTo }, spared, answer.goOnAt);
}

async function sizes({ client, schema }: TestOutbox) {
  const { rows } = await client.query<Pick<Sample, 'heap_mb' | 'index_mb' | 'toast_mb' | 'live' | 'dead' | 'vacuums'>>(
    `select pg_relation_size(relid) / 1e6 as heap_mb, pg_indexes_size(relid) / 1e6 as index_mb,
       (pg_table_size(relid) - pg_relation_size(relid)) / 1e6 as toast_mb,
       n_live_tup::int as live, n_dead_tup::int as dead, autovacuum_count::int as vacuums
     from pg_stat_user_tables where relid = '${schema}.outbox'::regclass`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the table is gone');
  const { heap_mb, index_mb, toast_mb, ...counts } = row;
  return {
    heap_mb: rounded(Number(heap_mb)),
    index_mb: rounded(Number(index_mb)),
    toast_mb: rounded(Number(toast_mb)),
    ...counts,
  };
}

function verdictOn(samples: readonly Sample[], days: number) {
  const megabytes = ({ heap_mb, index_mb, toast_mb }: Sample): number => heap_mb + index_mb + toast_mb;
  const mostOf = (from: number, to: number): number =>
    rounded(Math.max(0, ...samples.filter(({ day }) => day >= from && day < to).map(megabytes)));
  const half = HELD.from / 2;
  const held = mostOf(HELD.from, HELD.to + 1 / BLOAT_SAMPLES_PER_DAY);
  const after = mostOf(Math.ceil(HELD.to), days + 1);
  return {
    mb_before: mostOf(0, HELD.from),
    mb_held: held,
    mb_after: after,
    flat: mostOf(half, HELD.from) <= mostOf(0, half) * BLOAT_FLAT_RATIO && after <= held,
    samples,
  };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return Math.round(performance.now() - startedMs);
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}
