/** Sessions with a Postgres that crashes: they come back by themselves, and keep account of what became of every commit. */
import { setTimeout as delay } from 'node:timers/promises';
import { CONNECTION_FAULTS, codeOf } from '@tidemark/keyspace';
import { Client, type ClientBase } from 'pg';
import type { Ledger, Outcome } from './ledger.ts';
import {
  ANSWER_MS_MAX,
  CONNECT_MS_MAX,
  DEADLOCK_TIMEOUT_MS,
  LOCK_TIMEOUT_MS,
  RECONNECT_MS,
  RECOVERY_MS_MAX,
} from './limits.ts';

/** How a transaction is to end. */
export type Ending = 'commit' | 'rollback' | { readonly prepareAs: string; readonly verdict: 'commit' | 'rollback' };

export interface Session {
  /** Runs the work as one transaction, enters its outcome into the ledger and returns it. Throws what is nobody's crash. */
  transact(label: string, work: (client: ClientBase) => Promise<Ending>, how?: { isLazy: boolean }): Promise<Outcome>;
  /** One statement that may be repeated: it is, until it is answered. */
  ask<Row extends object>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** The connection itself, for what may be tried once only. */
  connected(): Promise<Client>;
  close(): Promise<void>;
}

/** Serialisation, deadlock, a key that is taken, no slot to prepare in, a lock that took too long. */
const REFUSALS: ReadonlySet<string> = new Set(['40001', '40P01', '23505', '53200', '55P03']);

export function openSession(url: string, ledger: Ledger, options: { readonly hints?: boolean } = {}): Session {
  let current: Client | undefined;

  const drop = (client: Client): void => {
    if (current === client) current = undefined;
    void client.end().catch(() => undefined);
  };

  const connect = async (): Promise<Client> => {
    const client = new Client({
      connectionString: url,
      application_name: 'chaos',
      connectionTimeoutMillis: CONNECT_MS_MAX,
      query_timeout: ANSWER_MS_MAX,
    });
    client.on('error', () => drop(client));
    try {
      await client.connect();
      await client.query(
        `set deadlock_timeout = ${DEADLOCK_TIMEOUT_MS}; set lock_timeout = ${LOCK_TIMEOUT_MS}; set tidemark.hints = ${options.hints === false ? 'off' : 'on'}`,
      );
    } catch (error) {
      drop(client);
      throw error;
    }
    return client;
  };

  const connected = async (): Promise<Client> => {
    const deadline = performance.now() + RECOVERY_MS_MAX;
    for (;;) {
      if (current !== undefined) return current;
      try {
        current = await connect();
      } catch (error) {
        if (!isAway(error) || performance.now() > deadline) throw error;
        await delay(RECONNECT_MS);
      }
    }
  };

  return {
    connected,
    async transact(label, work, { isLazy } = { isLazy: false }) {
      const client = await connected();
      let mayHaveEnded = false;
      const outcomeOf = async (): Promise<Outcome> => {
        try {
          await client.query(isLazy ? 'begin; set local synchronous_commit = off' : 'begin');
          const ending = await work(client);
          if (ending === 'rollback') {
            await client.query('rollback');
            return 'rolled back';
          }
          await client.query('insert into signed values ($1)', [label]);
          mayHaveEnded = true;
          await client.query(ending === 'commit' ? 'commit' : `prepare transaction '${ending.prepareAs}'`);
          if (ending === 'commit') return isLazy ? 'committed lazily' : 'committed';
          return ending.verdict === 'commit' ? 'committed' : 'rolled back';
        } catch (error) {
          if (isAway(error)) {
            drop(client);
            return mayHaveEnded ? 'unknown' : 'rolled back';
          }
          if (!REFUSALS.has(codeOf(error) ?? '')) throw error;
          await client.query('rollback').catch(() => drop(client));
          return 'rolled back';
        }
      };
      const outcome = await outcomeOf();
      ledger.set(label, outcome);
      return outcome;
    },
    async ask<Row extends object>(text: string, values: readonly unknown[] = []) {
      const deadline = performance.now() + RECOVERY_MS_MAX;
      for (;;) {
        const client = await connected();
        try {
          return (await client.query<Row>(text, [...values])).rows;
        } catch (error) {
          if (!isAway(error) || performance.now() > deadline) throw error;
          drop(client);
        }
      }
    },
    async close() {
      if (current !== undefined) await current.end().catch(() => undefined);
    },
  };
}

/** The server is gone, going or coming; whatever was asked last may have happened. */
export function isAway(error: unknown): boolean {
  const code = codeOf(error);
  if (code === undefined)
    return error instanceof Error && /terminated|timeout|closed|not queryable/i.test(error.message);
  return CONNECTION_FAULTS.has(code) || code.startsWith('57P') || code.startsWith('08');
}
