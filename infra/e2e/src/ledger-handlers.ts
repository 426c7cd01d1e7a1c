/** A handler that keeps every row it was given, and where it lay, without a unique key. */
import { defineHandler, done } from '@tidemark/handlers';
import { Pool } from 'pg';

let pool: Pool | undefined;

export const ledger = defineHandler<{ readonly json: string }>({
  name: 'e2e-ledger',
  input: 'avro',
  idempotent: false,
  timeoutMs: 240_000, // an attempt that runs out of time is made again, and its rows would be there twice
  async open() {
    pool = new Pool({ connectionString: process.env['TIDEMARK_POSTGRES'], max: 4 });
    pool.on('error', () => {});
  },
  async close() {
    await pool?.end();
  },
  async handleBatch(events, context) {
    await pool?.query(
      `insert into ${context.parameters['table']} (partition, record_offset, row)
       select p, o, r from unnest($1::int[], $2::bigint[], $3::jsonb[]) as given(p, o, r)`,
      [
        events.map((event) => event.partition),
        events.map((event) => event.offset.toString()),
        events.map((event) => event.payload?.json ?? null),
      ],
    );
    return done();
  },
});
