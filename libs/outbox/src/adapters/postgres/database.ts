/** Connections. A client that emits `error` with nobody listening ends the process, so every one gets a listener for life. */
import { describeServer } from '@tidemark/keyspace';
import { Client, type ClientBase, type ClientConfig, Pool } from 'pg';
import {
  ANSWER_MS_MAX,
  CONNECT_MS_MAX,
  CONNECTIONS_MAX,
  LISTEN_ANSWER_MS_MAX,
  LISTEN_CHECK_MS,
  SHORT_ANSWER_MS_MAX,
  SNAPSHOT_HELD_MS_MAX,
} from '../../limits.ts';
import { toTidemarkError } from './errors.ts';
import { checkOwnSession } from './own-session.ts';

/** How long a connection may be silent, in milliseconds. */
export interface Patience {
  readonly answerMs: number;
  readonly shortAnswerMs: number;
  readonly listenCheckMs: number;
  readonly listenAnswerMs: number;
}

export const PATIENCE: Patience = {
  answerMs: ANSWER_MS_MAX,
  shortAnswerMs: SHORT_ANSWER_MS_MAX,
  listenCheckMs: LISTEN_CHECK_MS,
  listenAnswerMs: LISTEN_ANSWER_MS_MAX,
};

export interface DatabaseOptions {
  /** postgres://user:password@host:port/database */
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly patience?: Patience;
}

export function clientConfig({ url, applicationName, patience = PATIENCE }: DatabaseOptions): ClientConfig {
  return {
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    keepAlive: true,
    statement_timeout: SNAPSHOT_HELD_MS_MAX,
    query_timeout: patience.answerMs,
    // A relay that was stopped by the machine must not keep a snapshot for as long as it sleeps.
    idle_in_transaction_session_timeout: SNAPSHOT_HELD_MS_MAX,
  };
}

/**
 * Names mean what the server means by them. On the search path of a role or database anybody may have planted a function
 * or an operator that fits an argument better, and it would run with the rights of the relay (CVE-2018-1058).
 */
async function pinNames(client: ClientBase): Promise<void> {
  await client.query('set search_path = pg_catalog, pg_temp');
}

/** Shared sessions first: what is set in one would meet whoever gets it next. */
async function claimSession(client: ClientBase, options: DatabaseOptions): Promise<void> {
  await checkOwnSession(client, clientConfig(options), addressOf(options.url));
  await pinNames(client);
}

/** Host, port and database: what a person needs to find the server, without the password. */
export function addressOf(url: string): string {
  if (!URL.canParse(url)) return 'an unreadable address';
  return `${describeServer(url)}${new URL(url).pathname}`;
}

export interface Database {
  readonly address: string;
  /** Lends a connection that answers soon; one that failed is thrown away. Errors become TidemarkError. */
  use<Result>(work: (client: ClientBase) => Promise<Result>): Promise<Result>;
  /** The same for what may take as long as a statement may: whoever waits for the rest must not wait for this. */
  usePatiently<Result>(work: (client: ClientBase) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export function openDatabase(options: DatabaseOptions): Database {
  // The pool waits for it before it lends the connection, which its types do not say.
  const onConnect = (client: ClientBase): unknown => claimSession(client, options);
  const { patience = PATIENCE } = options;
  const query_timeout = patience.shortAnswerMs;
  const pool = new Pool({ ...clientConfig(options), query_timeout, max: CONNECTIONS_MAX, onConnect });
  const address = addressOf(options.url);
  pool.on('error', ignoreLostConnection);
  pool.on('connect', (client) => client.on('error', ignoreLostConnection));
  async function use<Result>(work: (client: ClientBase) => Promise<Result>): Promise<Result> {
    const client = await pool.connect().catch((error: unknown) => {
      throw toTidemarkError(error, address);
    });
    try {
      const result = await work(client);
      client.release();
      return result;
    } catch (error) {
      // It may be inside a transaction, or dead: only a fresh one is sure not to be.
      client.release(true);
      throw toTidemarkError(error, address);
    }
  }
  return {
    address,
    use,
    usePatiently: (work) => use((client) => work(patient(client, patience.answerMs))),
    async close() {
      if (!pool.ended) await pool.end();
    },
  };
}

/** The same connection, whose answers are waited for longer. */
function patient(client: ClientBase, query_timeout: number): ClientBase {
  const query = (text: string, values?: unknown[]): unknown => {
    const asked = { text, query_timeout, ...(values === undefined ? {} : { values }) };
    return client.query(asked);
  };
  return Object.create(client, { query: { value: query } }) as ClientBase;
}

/** One connection, used by one at a time, that answers soon but for what is asked with more patience. A new one takes its place when it fails; who remembers the old one can tell. */
export interface Session {
  use<Result>(work: (client: ClientBase) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export function openSession(options: DatabaseOptions): Session {
  const address = addressOf(options.url);
  const { patience = PATIENCE } = options;
  let isClosed = false;
  let current: Client | undefined;
  let last: Promise<unknown> = Promise.resolve();

  async function connected(): Promise<Client> {
    if (current !== undefined) return current;
    const client = new Client({ ...clientConfig(options), query_timeout: patience.shortAnswerMs });
    const drop = () => {
      if (current === client) current = undefined;
    };
    client.on('error', drop);
    client.on('end', drop);
    try {
      await client.connect();
      await claimSession(client, options);
      // Closed meanwhile: nobody would end it.
      if (isClosed) throw new Error('connection ended');
    } catch (error) {
      abandon(client);
      throw error;
    }
    current = client;
    return client;
  }

  async function run<Result>(work: (client: ClientBase) => Promise<Result>): Promise<Result> {
    try {
      return await work(await connected());
    } catch (error) {
      if (current !== undefined) abandon(current);
      current = undefined;
      throw toTidemarkError(error, address);
    }
  }

  return {
    use(work) {
      const result = last.then(() => run(work));
      last = result.catch(() => {});
      return result;
    },
    async close() {
      isClosed = true;
      if (current !== undefined) abandon(current);
      current = undefined;
    },
  };
}

/** Whoever uses the connection gets the error from the query; an idle one is replaced by the pool. */
export function ignoreLostConnection(): void {}

/** Ends a client that may already be dead, without waiting for a server that does not answer. */
export function abandon(client: Client): void {
  client.on('error', ignoreLostConnection);
  client.end().catch(ignoreLostConnection);
}
