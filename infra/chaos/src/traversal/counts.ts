/** What the judge counts in the sink. Every query is over all jobs of the run. */
import type { LostOffsets } from '@tidemark/contracts';
import type { Pool } from 'pg';
import type { JobFound } from './audit-jobs.ts';
import type { Span } from './bound.ts';

/** `want` = records of all windows as acknowledged to the producer, with what became of each. */
const WANT = `
with want as (
  select w.job_id, w.partition, p.record_offset, p.key, p.digest, w.ordered,
         e.digest as effect, e.other_digests,
         exists (select from dead_letters d
                  where (d.job_id, d.partition, d.record_offset) = (w.job_id, w.partition, p.record_offset)) as is_dead,
         exists (select from cuts c where (c.topic, c.partition) = (w.topic, w.partition)
                  and c.before_offset > p.record_offset) as is_cut
    from windows w
    join produced p on (p.topic, p.partition) = (w.topic, w.partition)
     and p.record_offset between w.first_offset and w.last_offset
    left join effects e on (e.job_id, e.partition, e.record_offset) = (w.job_id, w.partition, p.record_offset))`;

const COUNTS = `${WANT}
select count(*)::int as records,
       count(*) filter (where effect is null and not is_dead and not is_cut)::int as missing,
       count(*) filter (where effect is null and not is_dead and is_cut)::int as "lostInjected",
       count(*) filter (where effect <> digest or other_digests > 0 or (effect is not null and is_dead))::int as wrong,
       (select count(*) from effects)::int - count(effect)::int as foreign
  from want`;

const REPEATED = `
select (count(*) - count(distinct (job_id, partition, record_offset)))::int as n from deliveries`;

/** Of writes that the sink took, those whose token is older than one that it had taken for the range before. */
const STALE_ACCEPTED = `
select count(*)::int as n from (
  select token, max(token) over (partition by job_id, range_id order by seq rows between unbounded preceding and 1 preceding) as newest
    from deliveries) as turns
 where newest > token`;

/** Where order is promised, the first effects of a key must have come in the order of the log. */
const OUT_OF_ORDER = `${WANT},
firsts as (select job_id, partition, record_offset, min(seq) as seq from deliveries group by 1, 2, 3),
turns as (
  select f.seq, max(f.seq) over (partition by w.job_id, w.partition, w.key order by w.record_offset
                                 rows between unbounded preceding and 1 preceding) as newest
    from want w join firsts f on (f.job_id, f.partition, f.record_offset) = (w.job_id, w.partition, w.record_offset)
   where w.ordered)
select count(*)::int as n from turns where newest > seq`;

export interface SinkCounts {
  readonly records: number;
  readonly missing: number;
  readonly lostInjected: number;
  readonly duplicateEffects: number;
  readonly repeated: number;
  readonly staleAttempted: number;
  readonly staleAccepted: number;
  readonly outOfOrder: number;
}

export async function countSink(pool: Pool): Promise<SinkCounts> {
  await pool.query('analyze');
  const { rows } = await pool.query<{
    readonly records: number;
    readonly missing: number;
    readonly lostInjected: number;
    readonly wrong: number;
    readonly foreign: number;
  }>(COUNTS);
  const counts = rows[0];
  if (counts === undefined) throw new Error('the count answered nothing');
  const { records, missing, lostInjected, wrong, foreign } = counts;
  return {
    ...{ records, missing, lostInjected, duplicateEffects: wrong + foreign },
    repeated: await one(pool, REPEATED),
    staleAttempted: await one(pool, 'select count(*)::int as n from refusals'),
    staleAccepted: await one(pool, STALE_ACCEPTED),
    outOfOrder: await one(pool, OUT_OF_ORDER),
  };
}

/** A few of the records that are missing, for the explanation. */
export async function someMissing(pool: Pool, limit: number): Promise<readonly string[]> {
  const { rows } = await pool.query<{ place: string }>(
    `${WANT} select job_id || ' ' || partition || '/' || record_offset as place from want
      where effect is null and not is_dead and not is_cut order by 1 limit $1`,
    [limit],
  );
  return rows.map(({ place }) => place);
}

/** By job: what was deleted before it was settled, whole intervals by partition and offset. */
export async function lostByJob(pool: Pool): Promise<ReadonlyMap<string, readonly LostOffsets[]>> {
  const { rows } = await pool.query<{ job: string; partition: number; at: string }>(
    `${WANT} select job_id as job, partition, record_offset::text as at from want
      where effect is null and not is_dead and is_cut order by job_id, partition, record_offset`,
  );
  const byJob = new Map<string, LostOffsets[]>();
  for (const { job, partition, at } of rows) {
    const offset = BigInt(at);
    const intervals = byJob.get(job) ?? [];
    const before = intervals.at(-1);
    if (before?.partition === partition && before.last === offset - 1n)
      intervals[intervals.length - 1] = { ...before, last: offset };
    else intervals.push({ partition, first: offset, last: offset });
    byJob.set(job, intervals);
  }
  return byJob;
}

export async function deliveriesWithin(pool: Pool, span: Span): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(
    'select count(*)::int as n from deliveries where at between to_timestamp($1) and to_timestamp($2)',
    [span.fromMs / 1_000, span.toMs / 1_000],
  );
  return rows[0]?.n ?? 0;
}

export async function foundByJob(pool: Pool): Promise<ReadonlyMap<string, JobFound>> {
  const { rows } = await pool.query<JobFound & { readonly job: string }>(
    `select w.job_id as job,
            (select count(*) from effects e where e.job_id = w.job_id)::int as effects,
            (select count(distinct (partition, record_offset)) from dead_letters d where d.job_id = w.job_id)::int as "deadLetters",
            (select count(*) - count(distinct (partition, record_offset)) from deliveries d where d.job_id = w.job_id)::int as repeated
       from (select distinct job_id from windows) as w`,
  );
  return new Map(rows.map(({ job, ...found }) => [job, found]));
}

async function one(pool: Pool, query: string): Promise<number> {
  const { rows } = await pool.query<{ n: number }>(query);
  return rows[0]?.n ?? 0;
}
