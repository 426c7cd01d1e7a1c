/** The handler `im-fanout`: messages of a topic in, inbox rows out. */
import type { ImMessage } from '@tidemark/contracts';
import { type AvroHandler, defineHandler, done, type HandlerEvent, type Outcome, skip } from '@tidemark/handlers';
import { classifyPostgres, underToken } from '@tidemark/handlers/postgres';
import { Pool, type PoolConfig } from 'pg';
import { fanOut, SkipReason } from './fan-out.ts';
import { BATCH_TIMEOUT_MS, POSTGRES_CONNECT_TIMEOUT_MS, POSTGRES_CONNECTIONS_MAX } from './limits.ts';
import { checkedSchema, DEFAULT_SCHEMA } from './tables.ts';
import { verifyFanOut } from './verify.ts';

export const HANDLER_NAME = 'im-fanout';

export interface ImFanoutOptions {
  readonly postgresUrl: string;
  /** Where the tables are, unless the job says otherwise by its parameter `schema`. */
  readonly schema?: string;
  /** What makes the pool, for tests that interrupt it. */
  readonly openPool?: (settings: PoolConfig) => Pool;
}

export function createImFanout({
  postgresUrl,
  schema: schemaDefault = DEFAULT_SCHEMA,
  openPool = (settings) => new Pool(settings),
}: ImFanoutOptions): AvroHandler<ImMessage> {
  let pool: Pool | undefined;
  const opened = (): Pool => {
    if (pool === undefined) throw new Error(`${HANDLER_NAME} was not opened`);
    return pool;
  };
  return defineHandler<ImMessage>({
    name: HANDLER_NAME,
    input: 'avro',
    idempotent: true,
    timeoutMs: BATCH_TIMEOUT_MS,
    classify: classifyPostgres,

    async open() {
      pool = openPool({
        connectionString: postgresUrl,
        max: POSTGRES_CONNECTIONS_MAX,
        connectionTimeoutMillis: POSTGRES_CONNECT_TIMEOUT_MS,
        application_name: HANDLER_NAME,
      });
      // An idle connection that breaks is replaced when it is needed; without a listener it would end the process.
      pool.on('error', () => {});
    },

    async close() {
      await pool?.end();
      pool = undefined;
    },

    async handleBatch(events, context) {
      const schema = checkedSchema(context.parameters['schema'] ?? schemaDefault);
      const { jobId, rangeId, token } = context;
      return await underToken(opened(), {
        context,
        table: `${schema}.fanout_tokens`,
        effect: async (sink) => {
          const messageIds = events.flatMap((event) => event.payload?.id.toString() ?? []);
          const offsets = events.map((event) => event.offset.toString());
          const skipped = await fanOut(sink, { schema, jobId, rangeId, token, messageIds, offsets });
          return events.map((event) => outcomeOf(event, skipped));
        },
      });
    },

    async verify(events, { jobId, parameters }) {
      const schema = checkedSchema(parameters['schema'] ?? schemaDefault);
      const messageIds = events.map(({ payload }) => payload?.id.toString() ?? null);
      return await verifyFanOut(opened(), { schema, jobId, messageIds });
    },
  });
}

/** A tombstone says that the message's row is gone: there is nobody to look up. */
function outcomeOf(event: HandlerEvent<ImMessage | null>, skipped: ReadonlyMap<string, SkipReason>): Outcome {
  if (event.payload === null) return skip(SkipReason.deleted);
  const reason = skipped.get(event.payload.id.toString());
  return reason === undefined ? done() : skip(reason);
}
