/** Handlers whose effects an audit can ask for. */
import { defineHandler, done, duplicate, idempotencyKey, missing, noneDue, present, unknown } from '@tidemark/handlers';
import { classifyPostgres, insertEachOnce, verifyRows } from '@tidemark/handlers/postgres';
import { services } from '@tidemark/testkit';
import { Pool } from 'pg';

let pool: Pool | undefined;

/** One row for each record, in the table that its parameter names. */
export const ledger = defineHandler({
  name: 'ledger',
  input: 'raw',
  idempotent: true,
  batchRecordsMax: 2,
  classify: classifyPostgres,
  async open() {
    pool = new Pool({ connectionString: services().postgres });
    pool.on('error', () => {});
  },
  async close() {
    await pool?.end();
    pool = undefined;
  },
  handleBatch: async (events, { parameters }) =>
    await insertEachOnce(pool ?? new Pool(), {
      table: parameters['table'] ?? '',
      key: ['event'],
      rows: events.map((event) => ({ event: idempotencyKey(event) })),
    }),
  verify: async (events, { parameters }) =>
    await verifyRows(pool ?? new Pool(), {
      table: parameters['table'] ?? '',
      keys: events.map((event) => ({ event: idempotencyKey(event) })),
    }),
});

/** Its verdict is the text of the record. */
export const spoken = defineHandler({
  name: 'spoken',
  input: 'raw',
  idempotent: false,
  batchRecordsMax: 4,
  handleBatch: () => done(),
  verify(events, { log }) {
    log.info('asked', { records: events.length });
    return events.map(({ value }) => {
      switch (value?.toString() ?? '') {
        case 'twice':
          return duplicate(2);
        case 'missing':
          return missing();
        case 'none due':
          return noneDue('small');
        case 'throw':
          throw new Error('no such table');
        case 'unknown':
          return unknown('archived');
        default:
          return present();
      }
    });
  },
});

/** Sees decoded records, and knows those of its own kind. */
export const decoded = defineHandler<{ readonly id: bigint }>({
  name: 'decoded',
  input: 'avro',
  idempotent: true,
  handle: () => done(),
  verify(events) {
    if (events.length === 0) throw new Error('asked for nothing');
    return events.map(({ payload }) => (payload === null || payload.id > 0n ? present() : missing()));
  },
});

/** Tells which record it was asked for. */
export const placed = defineHandler({
  name: 'placed',
  input: 'raw',
  idempotent: true,
  handle: () => done(),
  verify: (events) => events.map((event) => unknown(idempotencyKey(event))),
});

export const silent = defineHandler({ name: 'silent', input: 'raw', idempotent: true, handle: () => done() });
