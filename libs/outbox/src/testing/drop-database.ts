import { waitFor } from '@tidemark/testkit';
import type { Client } from 'pg';

/** The server itself waits five seconds for sessions that it has ended, and a busy machine may need longer. */
export async function dropDatabase(administrator: Client, name: string): Promise<void> {
  await administrator.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
  await waitFor(`the sessions of database ${name} to end`, async () => {
    const { rowCount } = await administrator.query('select from pg_stat_activity where datname = $1', [name]);
    return rowCount === 0;
  });
  await administrator.query(`drop database "${name}" with (force)`);
}
