/** A database of the run's own in the stack's Postgres. */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { SINK_TABLES } from './sink.ts';

export interface SinkDatabase {
  readonly url: string;
  readonly pool: pg.Pool;
  drop(): Promise<void>;
}

/** Connections that hang are not waited for: the database is dropped under them. */
const END_MS = 2_000;

export async function createSinkDatabase(postgres: string, name: string): Promise<SinkDatabase> {
  const admin = new pg.Client({ connectionString: postgres });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = Object.assign(new URL(postgres), { pathname: `/${name}` }).href;
  const pool = new pg.Pool({ connectionString: url, max: 8 });
  pool.on('error', () => {});
  await pool.query(SINK_TABLES);
  return {
    url,
    pool,
    async drop() {
      await Promise.race([pool.end(), delay(END_MS)]);
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    },
  };
}
