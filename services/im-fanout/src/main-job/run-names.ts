/** Every run has names of its own, so that it can be checked without regard to any other, and an older one can still be looked at. */
import { detachTable } from '@tidemark/outbox/postgres';
import type { Client } from 'pg';
import { dropTables } from '../tables.ts';

export interface RunNames {
  readonly schema: string;
  readonly topic: string;
  readonly jobId: string;
}

export function namesOfRun(startedAt: Date): RunNames {
  const [date = '', time = ''] = startedAt.toISOString().split(/[T.]/);
  const stamp = `${date.replaceAll('-', '')}_${time.replaceAll(':', '')}`;
  return { schema: `im_${stamp}`, topic: `im.messages.${stamp}`, jobId: `im-fanout-${stamp}` };
}

const SCHEMA_OF_A_RUN = '^im_\\d{8}_\\d{6}$';

/** Removes the tables of earlier runs but the last: some 40 MB each. Their topics stay, being small and append-only. */
export async function forgetOldRuns(client: Client, namespace: string): Promise<void> {
  const { rows } = await client.query<{ schema: string }>(
    'select nspname as schema from pg_namespace where nspname ~ $1 order by nspname desc offset 1',
    [SCHEMA_OF_A_RUN],
  );
  for (const { schema } of rows) {
    await detachTable(client, { namespace, table: `${schema}.messages` });
    await dropTables(client, schema);
  }
}
