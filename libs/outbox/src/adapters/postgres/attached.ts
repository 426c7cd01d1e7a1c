import { checkNamespace } from '@tidemark/keyspace';
import type { Client } from 'pg';
import type { Bootstrap } from '../../bootstrap.ts';
import { quoteIdentifier } from '../../quoting.ts';
import { asTidemark } from './attach.ts';
import { readBootstraps } from './bootstrap-progress.ts';

export interface AttachedTable {
  /** As it stands in SQL. */
  readonly table: string;
  readonly topic: string;
  readonly keyColumns: readonly string[];
  readonly eventType: string;
  readonly appendOnly: boolean;
  readonly attachedAtMs: number;
  /** Null when none was begun since it was attached. */
  readonly bootstrap: Bootstrap | null;
}

interface AttachedRow {
  readonly table: string;
  readonly topic: string;
  readonly key_columns: readonly string[];
  readonly event_type: string;
  readonly append_only: boolean;
  readonly attached_at: number;
}

/** What is captured, by name, and how far the bootstraps are. */
export function listAttached(
  client: Client,
  { namespace }: { readonly namespace: string },
): Promise<readonly AttachedTable[]> {
  const schema = quoteIdentifier(checkNamespace(namespace));
  return asTidemark(client, async () => {
    const { rows } = await client.query<AttachedRow>(`
      select format('%I.%I', n.nspname, c.relname) as "table", k.topic, k.key_columns, k.event_type, k.append_only,
        (extract(epoch from k.attached_at) * 1000)::float8 as attached_at
      from ${schema}.captures k join pg_class c on c.oid = k.target join pg_namespace n on n.oid = c.relnamespace
      order by 1`);
    const bootstraps = new Map((await readBootstraps(client, schema)).map((bootstrap) => [bootstrap.table, bootstrap]));
    return rows.map((row) => {
      const bootstrap = bootstraps.get(row.table);
      return {
        table: row.table,
        topic: row.topic,
        keyColumns: row.key_columns,
        eventType: row.event_type,
        appendOnly: row.append_only,
        attachedAtMs: row.attached_at,
        bootstrap: bootstrap === undefined || bootstrap.isOutdated ? null : bootstrap,
      };
    });
  });
}
