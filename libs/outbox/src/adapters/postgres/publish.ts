/** Events and job requests from TypeScript, inside the caller's transaction. */

import type { JobRequested } from '@tidemark/contracts';
import { checkNamespace } from '@tidemark/keyspace';
import type { ClientBase } from 'pg';
import { quoteIdentifier } from '../../quoting.ts';

export interface OutboxEvent {
  readonly namespace: string;
  readonly topic: string;
  readonly key: string;
  readonly type: string;
  /** JSON text, so that numbers of any size stay as they are; null is a tombstone. */
  readonly payload: string | null;
  readonly headers?: Readonly<Record<string, string | null>>;
  /** False: the caller holds a lock that orders the writers of this key, or does not need an order. Default true. */
  readonly ordered?: boolean;
}

/** Returns the position in the outbox. */
export async function publish(client: ClientBase, event: OutboxEvent): Promise<bigint> {
  const schema = quoteIdentifier(checkNamespace(event.namespace));
  const { rows } = await client.query<{ position: string }>(
    `select ${schema}.publish($1, $2, $3, $4::jsonb, $5::jsonb, $6)::text as position`,
    [event.topic, event.key, event.type, event.payload, JSON.stringify(event.headers ?? {}), event.ordered ?? true],
  );
  return BigInt(onlyRow(rows).position);
}

/** Whatever has a default in schemas/job-requested.avsc may be left out, and so may the id; `concurrency` must be 0 so far. */
export type JobRequest = Partial<Omit<JobRequested, 'formatVersion' | 'concurrency'>> &
  Pick<JobRequested, 'topic' | 'handler'>;

/** The job covers every event whose row was committed before, and the earlier ones of this transaction. Returns the job's id. */
export async function requestJob(
  client: ClientBase,
  { namespace, request }: { readonly namespace: string; readonly request: JobRequest },
): Promise<string> {
  const schema = quoteIdentifier(checkNamespace(namespace));
  const { rows } = await client.query<{ id: string }>(`select ${schema}.request_job($1::jsonb) as id`, [
    requestText(request),
  ]);
  return onlyRow(rows).id;
}

/** JSON has no bigint, and as a number it would be rounded: the digits are spliced in as they are. */
function requestText({ deadLettersMax, ...rest }: JobRequest): string {
  const text = JSON.stringify(rest);
  return deadLettersMax === undefined ? text : `${text.slice(0, -1)},"deadLettersMax":${deadLettersMax}}`;
}

function onlyRow<Row>(rows: readonly Row[]): Row {
  const row = rows[0];
  if (row === undefined) throw new Error('the function answered no row');
  return row;
}
