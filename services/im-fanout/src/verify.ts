/**
 * Is what a message had to bring about there? For audits, which may come long after the job: members have left since, messages
 * were recalled or are gone. So it goes by what the fan-out decided, which is written down one by one, and not by the live
 * state: an inbox row is due to everybody who was a member when the message was posted and whom the job did not pass over.
 */
import { missing, noneDue, present, type Verdict } from '@tidemark/handlers';
import { type Queryable, verifyRows } from '@tidemark/handlers/postgres';
import { SkipReason } from './fan-out.ts';
import { VERIFIED_ROWS_MAX } from './limits.ts';
import { checkedSchema } from './tables.ts';

export interface VerifyRequest {
  readonly schema: string;
  readonly jobId: string;
  /** One for each record, as text; null for a tombstone, whose message is gone. */
  readonly messageIds: readonly (string | null)[];
}

/** One verdict for each record; looks and changes nothing. */
export async function verifyFanOut(sink: Queryable, request: VerifyRequest): Promise<readonly Verdict[]> {
  const asked = [...new Set(request.messageIds.filter((id) => id !== null))];
  const messages = await decisionsOf(sink, { ...request, messageIds: asked });
  const rows = messages.flatMap(({ id, due }) => due.map((member) => ({ message_id: id, member_id: member })));
  const rowsThere = new Map<string, number>();
  for (let from = 0; from < rows.length; from += VERIFIED_ROWS_MAX) {
    const part = rows.slice(from, from + VERIFIED_ROWS_MAX);
    const verdicts = await verifyRows(sink, { table: `${checkedSchema(request.schema)}.inbox`, keys: part });
    for (const [place, { message_id }] of part.entries()) {
      // The primary key of the inbox allows no second row.
      if (verdicts[place]?.kind === 'present') rowsThere.set(message_id, (rowsThere.get(message_id) ?? 0) + 1);
    }
  }
  const verdicts = new Map(messages.map((message) => [message.id, verdictOf(message, rowsThere.get(message.id) ?? 0)]));
  return request.messageIds.map((id) => (id === null ? noneDue(SkipReason.deleted) : (verdicts.get(id) ?? missing())));
}

interface Decision {
  readonly id: string;
  /** Who must have an inbox row. */
  readonly due: readonly string[];
  /** Why the job passed over the message as a whole, for one of its records at least. */
  readonly skipped: SkipReason | null;
  readonly isGone: boolean;
}

/**
 * The effect first: a message that was delivered and recalled afterwards has two records, of which one was skipped. Who was
 * to get a message that is gone nobody can tell, so its rows are those that are there.
 */
function verdictOf({ skipped, isGone, due }: Decision, rowsThere: number): Verdict {
  const isDelivered = rowsThere > 0;
  if (skipped !== null && !isDelivered) return noneDue(skipped);
  if (isGone) return isDelivered ? present() : missing();
  return rowsThere < due.length ? missing() : present();
}

async function decisionsOf(
  sink: Queryable,
  {
    schema,
    jobId,
    messageIds,
  }: { readonly schema: string; readonly jobId: string; readonly messageIds: readonly string[] },
): Promise<readonly Decision[]> {
  const s = checkedSchema(schema);
  const { rows } = await sink.query(
    `select asked.id::text as id, message.id is null as "isGone",
            (select skip.reason from ${s}.fanout_skips skip
              where skip.job_id = $1 and skip.message_id = asked.id and coalesce(skip.member_id, -1) = -1) as skipped,
            case when message.id is null
              then array(select inbox.member_id::text from ${s}.inbox inbox where inbox.message_id = asked.id)
              else array(select member.member_id::text from ${s}.members member
                          where member.group_id = message.group_id and member.joined_at <= message.posted_at
                            and not exists (select from ${s}.fanout_skips skip
                                             where skip.job_id = $1 and skip.message_id = asked.id
                                               and coalesce(skip.member_id, -1) = member.member_id))
            end as due
       from unnest($2::bigint[]) as asked(id) left join ${s}.messages message on message.id = asked.id`,
    [jobId, messageIds],
  );
  return rows as readonly Decision[];
}
