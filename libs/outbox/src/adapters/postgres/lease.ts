/**
 * The lease row. Its clock is the database's; `owner` is unique to a process, so nobody renews another's by mistake. An
 * outbox has one relay: a unique index refuses the row of a second name.
 */
import { codeOf, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { LeaseAnswer, RelayLease } from '../../ports.ts';
import { quoteIdentifier, quoteLiteral } from '../../quoting.ts';
import { parseSnapshot, snapshotText } from '../../snapshot.ts';
import type { Database } from './database.ts';
import type { Queries } from './queries.ts';
import { Purpose, requireRights } from './rights.ts';

interface HolderRow {
  readonly owner: string;
  readonly expires_in_ms: number;
}

export function createPostgresLease(
  database: Database,
  queries: Queries,
  {
    namespace,
    relay,
    owner,
    answerMs,
  }: { readonly namespace: string; readonly relay: string; readonly owner: string; readonly answerMs: number },
): RelayLease {
  let mayRun = false;

  /** A relay must not wait for its turn on a connection that is dead. */
  async function soon<Row extends object>(text: string, values: readonly unknown[]): Promise<Row | undefined> {
    const query = { text, values: [...values], query_timeout: answerMs };
    const { rows } = await database.use((client) => client.query<Row>(query));
    return rows[0];
  }

  async function take(ttlMs: number): Promise<{ term: string; published: string | null } | undefined> {
    if (!mayRun) await database.use((client) => requireRights(client, namespace, Purpose.run));
    mayRun = true;
    try {
      return await soon<{ term: string; published: string | null }>(queries.acquireLease, [relay, owner, ttlMs]);
    } catch (error) {
      if (!(error instanceof TidemarkError) || codeOf(error.cause) !== UNIQUE_VIOLATION) throw error;
      const { rows } = await database.use((client) => client.query<{ name: string }>(queries.relayNames));
      const taken = rows[0]?.name;
      // *Race:* two replicas insert the first row of one name at once. `on conflict (name)` settles that in the index of the
      // name; when they meet in the one that admits a single row, the later insert is refused. It was not granted, no more.
      if (taken === undefined || taken === relay) return undefined;
      throw nameTaken({ namespace, relay, taken, cause: error });
    }
  }

  async function holder(): Promise<{ owner: string; expiresInMs: number } | undefined> {
    const row = await soon<HolderRow>(queries.leaseHolder, [relay]);
    return row === undefined ? undefined : { owner: row.owner, expiresInMs: Math.round(row.expires_in_ms) };
  }
  return {
    async acquire(ttlMs): Promise<LeaseAnswer> {
      const row = await take(ttlMs);
      if (row !== undefined) {
        return {
          kind: 'granted',
          term: BigInt(row.term),
          published: row.published === null ? undefined : parseSnapshot(row.published),
        };
      }
      const other = await holder();
      return { kind: 'held', owner: other?.owner ?? 'one that has just ended', expiresInMs: other?.expiresInMs ?? 0 };
    },
    async record(published) {
      await database.use((client) => client.query(queries.recordPublished, [relay, owner, snapshotText(published)]));
    },
    async release() {
      await soon(queries.releaseLease, [relay, owner]);
    },
    holder,
  };
}

const UNIQUE_VIOLATION = '23505';

function nameTaken({
  namespace,
  relay,
  taken,
  cause,
}: {
  readonly namespace: string;
  readonly relay: string;
  readonly taken: string;
  readonly cause: TidemarkError;
}): TidemarkError {
  return new TidemarkError({
    code: 'RELAY_NAME_TAKEN',
    class: ErrorClass.config,
    message: `the outbox of namespace "${namespace}" belongs to relay "${taken}", and "${relay}" would publish every row again: set TIDEMARK_RELAY_NAME=${taken}. If "${taken}" has stopped for good: ${removal(namespace, taken)}; what it has published and not yet removed is then sent once more`,
    context: { relay, taken },
    cause,
  });
}

function removal(namespace: string, name: string): string {
  return `delete from ${quoteIdentifier(namespace)}.relays where name = ${quoteLiteral(name)}`;
}
