/**
 * The judge of the main job. It does not ask the handler, the distributor or the cursor store: it reads the topic from
 * end to end, notes which message lies where, and lets Postgres compare what should be with what is.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Pin } from '@tidemark/contracts';
import { type ControlParts, describeCount, readWindow } from '@tidemark/control';
import { cursorBefore } from '@tidemark/keyspace';
import { headerText, type TopicDescription } from '@tidemark/log';
import type { Client } from 'pg';
import { checkedSchema } from '../tables.ts';

export interface Check {
  readonly what: string;
  readonly expected: bigint | number;
  readonly found: bigint | number;
}

export interface Reconciliation {
  readonly checks: readonly Check[];
  readonly inboxRows: bigint;
  /** Records of the topic inside the window, as this reader counted them. */
  readonly recordsInWindow: bigint;
}

interface PublishedRow {
  readonly partition: number;
  readonly offset: bigint;
  readonly position: bigint;
  readonly messageId: bigint;
}

export interface ReconcileOptions {
  readonly schema: string;
  readonly jobId: string;
  readonly topic: TopicDescription;
  readonly pin: Pin;
  /** What the plan alone says of its messages, ids 1 to `messages`. */
  readonly planned: { readonly messages: number; readonly inboxRows: number; readonly skips: ReadonlySet<string> };
}

export async function reconcile(
  cluster: ControlParts['cluster'],
  client: Client,
  options: ReconcileOptions,
): Promise<Reconciliation> {
  await notePublished(client, await readPublished(cluster, options.topic));
  await notePin(client, options.pin);
  return compare(client, options);
}

/** After the last message the relay needs a moment. */
const PUBLISHED_TIMEOUT_MS = 30_000;
const PUBLISHED_POLL_MS = 250;

/**
 * Resolves when as many changes are in the topic as were committed, or when waiting for more makes no sense: then the
 * reconciliation tells the difference. Nobody may post meanwhile.
 */
export async function awaitPublished(
  cluster: ControlParts['cluster'],
  client: Client,
  { schema, topic }: Pick<ReconcileOptions, 'schema' | 'topic'>,
): Promise<void> {
  const { rows } = await client.query<{ changes: string }>(
    `select count(*) + count(recalled_at) as changes from ${checkedSchema(schema)}.messages`,
  );
  const changes = Number(rows[0]?.changes ?? 0);
  const deadline = performance.now() + PUBLISHED_TIMEOUT_MS;
  while ((await readPublished(cluster, topic)).length < changes && performance.now() < deadline)
    await delay(PUBLISHED_POLL_MS);
}

async function readPublished(
  cluster: ControlParts['cluster'],
  topic: TopicDescription,
): Promise<readonly PublishedRow[]> {
  const windows = (await cluster.catalog.offsets(topic)).map(({ partition, logStartOffset, lastStableOffset }) => ({
    partition,
    start: cursorBefore(logStartOffset),
    end: cursorBefore(lastStableOffset),
  }));
  const rows: PublishedRow[] = [];
  for await (const item of readWindow(cluster, topic, windows)) {
    if (item.kind === 'cut short')
      throw new Error(`partition ${item.partition} of ${topic.topic} cannot be read: ${item.reason}`);
    const { key, offset } = item.record;
    const position = headerText(item.record, 'tm_position');
    if (position === undefined || key === null)
      throw new Error(`the record at ${item.partition}:${offset} was not written by the relay`);
    rows.push({
      partition: item.partition,
      offset,
      position: BigInt(position),
      messageId: BigInt(key.toString()),
    });
  }
  return rows;
}

async function notePublished(client: Client, rows: readonly PublishedRow[]): Promise<void> {
  await client.query('drop table if exists pg_temp.published');
  await client.query(
    'create temporary table published (partition int, "offset" bigint, position bigint, message_id bigint)',
  );
  await client.query(
    'insert into published select * from unnest($1::int[], $2::bigint[], $3::bigint[], $4::bigint[])',
    [
      rows.map(({ partition }) => partition),
      rows.map(({ offset }) => offset.toString()),
      rows.map(({ position }) => position.toString()),
      rows.map(({ messageId }) => messageId.toString()),
    ],
  );
}

async function notePin(client: Client, { partitions }: Pin): Promise<void> {
  await client.query('drop table if exists pg_temp.pinned');
  await client.query('create temporary table pinned (partition int, first bigint, last bigint)');
  await client.query('insert into pinned select * from unnest($1::int[], $2::bigint[], $3::bigint[])', [
    partitions.map(({ partition }) => partition),
    partitions.map(({ start }) => (start + 1n).toString()),
    partitions.map(({ end }) => end.toString()),
  ]);
}

/** One statement, one look at the database. */
async function compare(client: Client, { schema, jobId, planned }: ReconcileOptions): Promise<Reconciliation> {
  const s = checkedSchema(schema);
  const { rows } = await client.query<Record<Counted, string>>(
    `with inside as materialized (
       select e.* from published e join pinned w on e.partition = w.partition and e."offset" between w.first and w.last
     ), covered as materialized (
       select m.* from ${s}.messages m where exists (select from inside where inside.message_id = m.id)
     ), audience as materialized (
       select c.id as message_id, p.member_id, p.left_at, p.muted
         from covered c join ${s}.members p on p.group_id = c.group_id where c.recalled_at is null
     ), due as materialized (
       select message_id, member_id from audience where left_at is null and muted is false
     ), due_skips as materialized (
       select id as message_id, null::bigint as member_id, 'recalled' as reason from covered where recalled_at is not null
       union all
       select message_id, member_id, case when left_at is null then 'muted' else 'left' end from audience where left_at is not null or muted
     ), recorded_skips as materialized (
       select message_id, member_id, reason from ${s}.fanout_skips where job_id = $1
     )
     select (select count(*) from inside) as "recordsInWindow",
            (select count(*) from due) as "dueRows",
            (select count(*) from ${s}.inbox) as "inboxRows",
            (select count(*) from (select * from due except select message_id, member_id from ${s}.inbox) as missing) as "missingRows",
            (select count(*) from (select message_id, member_id from ${s}.inbox except select * from due) as extra) as "unexpectedRows",
            (select count(*) - count(distinct (message_id, member_id)) from ${s}.inbox) as "duplicateRows",
            (select count(*) from due_skips) as "dueSkips",
            (select count(*) from recorded_skips) as "recordedSkips",
            (select count(*) from (select * from due_skips except all select * from recorded_skips) as missing)
              + (select count(*) from (select * from recorded_skips except all select * from due_skips) as extra) as "differentSkips",
            (select count(*) from ${s}.messages m where not exists (select from covered where covered.id = m.id)) as "laterMessages",
            (select count(*) from ${s}.inbox i where not exists (select from covered where covered.id = i.message_id)) as "laterRows",
            (select count(*) from ${s}.fanout_requests where job_id = $1) as "seenAtRequest",
            (select count(*) from ${s}.fanout_requests r join covered c on c.id = r.message_id where r.job_id = $1) as "seenAndCovered",
            (select count(*) from ${s}.messages) + (select count(*) from ${s}.messages where recalled_at is not null) as "committedChanges",
            (select count(*) from published) as "publishedEvents",
            (select count(*) - count(distinct position) from published) as "publishedTwice",
            (select count(*) from published p where not exists (select from ${s}.messages m where m.id = p.message_id)) as "publishedUncommitted",
            (select count(*) from ${s}.inbox where message_id <= $2) as "plannedRowsFound"`,
    [jobId, planned.messages],
  );
  const row = rows[0];
  if (row === undefined) throw new Error('the comparison answered nothing');
  const count = (name: Counted): bigint => BigInt(row[name]);
  const { rows: recorded } = await client.query<{ skip: string }>(
    `select message_id || '/' || coalesce(member_id::text, '-') || '/' || reason as skip from ${s}.fanout_skips where job_id = $1 and message_id <= $2`,
    [jobId, planned.messages],
  );
  const differentFromPlan =
    recorded.filter(({ skip }) => !planned.skips.has(skip)).length +
    planned.skips.size -
    recorded.filter(({ skip }) => planned.skips.has(skip)).length;
  return {
    recordsInWindow: count('recordsInWindow'),
    inboxRows: count('inboxRows'),
    checks: [
      { what: 'committed changes published', expected: count('committedChanges'), found: count('publishedEvents') },
      { what: '… of these twice', expected: 0n, found: count('publishedTwice') },
      { what: '… of transactions that rolled back', expected: 0n, found: count('publishedUncommitted') },
      {
        what: 'messages committed before the request, covered',
        expected: count('seenAtRequest'),
        found: count('seenAndCovered'),
      },
      { what: 'inbox rows', expected: count('dueRows'), found: count('inboxRows') },
      { what: '… missing', expected: 0n, found: count('missingRows') },
      { what: '… duplicate', expected: 0n, found: count('duplicateRows') },
      { what: '… that nobody should have', expected: 0n, found: count('unexpectedRows') },
      {
        what: `… of the ${describeCount(planned.messages)} planned messages`,
        expected: planned.inboxRows,
        found: count('plannedRowsFound'),
      },
      { what: 'skips recorded', expected: count('dueSkips'), found: count('recordedSkips') },
      { what: '… other than the live state says', expected: 0n, found: count('differentSkips') },
      { what: '… other than the fixed set says', expected: 0, found: differentFromPlan },
      {
        what: `rows of the ${describeCount(count('laterMessages'))} messages after the pin`,
        expected: 0n,
        found: count('laterRows'),
      },
    ],
  };
}

type Counted =
  | 'recordsInWindow'
  | 'dueRows'
  | 'inboxRows'
  | 'missingRows'
  | 'unexpectedRows'
  | 'duplicateRows'
  | 'dueSkips'
  | 'recordedSkips'
  | 'differentSkips'
  | 'laterMessages'
  | 'laterRows'
  | 'seenAtRequest'
  | 'seenAndCovered'
  | 'committedChanges'
  | 'publishedEvents'
  | 'publishedTwice'
  | 'publishedUncommitted'
  | 'plannedRowsFound';
