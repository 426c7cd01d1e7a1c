/**
 * One batch of messages becomes inbox rows: the live state first, all rows second. The caller's transaction makes it
 * everything or nothing, under a token that nobody had overtaken (`underToken` of the SDK tells why that holds).
 */
import type { Queryable } from '@tidemark/handlers/postgres';
import { checkedSchema } from './tables.ts';

export const SkipReason = {
  recalled: 'recalled',
  deleted: 'deleted',
  left: 'left',
  muted: 'muted',
} as const;
export type SkipReason = (typeof SkipReason)[keyof typeof SkipReason];

export interface FanOutRequest {
  readonly schema: string;
  readonly jobId: string;
  readonly rangeId: string;
  readonly token: string;
  /** As text: int64 does not fit into a JavaScript number. */
  readonly messageIds: readonly string[];
  /** Of the records that made up the batch, as text. */
  readonly offsets: readonly string[];
}

/**
 * Answers the messages that nobody gets. Members that do not get theirs are only in `fanout_skips`. `sink` is a connection
 * in an open transaction.
 */
export async function fanOut(sink: Queryable, request: FanOutRequest): Promise<ReadonlyMap<string, SkipReason>> {
  await noteDeliveries(sink, request);
  return await writeInbox(sink, request);
}

async function noteDeliveries(
  sink: Queryable,
  { schema, jobId, rangeId, token, offsets }: FanOutRequest,
): Promise<void> {
  await sink.query(
    `insert into ${checkedSchema(schema)}.fanout_deliveries (job_id, range_id, record_offset, token)
     select $1, $2, o, $3 from unnest($4::bigint[]) as given(o)`,
    [jobId, rangeId, token, offsets],
  );
}

/**
 * The window pinned which messages, not what is true of them: recalled, left and muted are looked up here and now.
 * Rows are inserted in key order, so two batches that hold the same message cannot wait for each other in a circle.
 */
async function writeInbox(
  sink: Queryable,
  { schema, jobId, messageIds }: FanOutRequest,
): Promise<ReadonlyMap<string, SkipReason>> {
  const s = checkedSchema(schema);
  const { rows } = await sink.query(
    `with asked as (
       select distinct id from unnest($2::bigint[]) as given(id)
     ), live as materialized (
       select m.id, m.group_id, m.recalled_at is not null as recalled from asked join ${s}.messages m using (id)
     ), audience as materialized (
       select live.id as message_id, member.member_id, member.left_at is not null as has_left, member.muted
         from live join ${s}.members member using (group_id)
        where not live.recalled
     ), delivered as (
       insert into ${s}.inbox (message_id, member_id)
       select message_id, member_id from audience where not has_left and not muted order by message_id, member_id
       on conflict do nothing
     ), unwanted as (
       select asked.id, case when live.id is null then '${SkipReason.deleted}' else '${SkipReason.recalled}' end as reason
         from asked left join live using (id)
        where live.id is null or live.recalled
     ), recorded as (
       insert into ${s}.fanout_skips (job_id, message_id, member_id, reason)
       select $1, skip.message_id, skip.member_id, skip.reason
         from (select message_id, member_id, case when has_left then '${SkipReason.left}' else '${SkipReason.muted}' end as reason
                 from audience where has_left or muted
               union all
               select id, null, reason from unwanted) as skip
        order by skip.message_id, skip.member_id
       on conflict do nothing
     )
     select id::text, reason from unwanted`,
    [jobId, messageIds],
  );
  return new Map(
    (rows as readonly { readonly id: string; readonly reason: SkipReason }[]).map(({ id, reason }) => [id, reason]),
  );
}
