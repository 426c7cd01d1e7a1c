import type { ClientBase } from 'pg';
import type { Bootstrap } from '../../bootstrap.ts';

interface BootstrapRow {
  readonly table: string;
  readonly rows_told: string;
  readonly rows_estimated: string | null;
  readonly chunks: string;
  readonly started_at: number;
  readonly updated_at: number;
  readonly finished_at: number | null;
  readonly is_outdated: boolean;
}

/** Of all tables, by name, with those that are over. */
export async function readBootstraps(client: ClientBase, schema: string): Promise<readonly Bootstrap[]> {
  const { rows } = await client.query<BootstrapRow>(bootstrapsQuery(schema, `${schema}.bootstraps`));
  return rows.map(bootstrapOf);
}

/** `source` answers rows of the table of bootstraps. */
export function bootstrapsQuery(schema: string, source: string): string {
  return `
    select format('%I.%I', n.nspname, c.relname) as "table", b.rows_told::text, b.rows_estimated::text, b.chunks::text,
      ${millis('started_at')}, ${millis('updated_at')}, ${millis('finished_at')},
      not exists (select from ${schema}.captures k where k.target = b.target and k.attached_at = b.attached_at) as is_outdated
    from ${source} b join pg_class c on c.oid = b.target join pg_namespace n on n.oid = c.relnamespace
    order by 1`;
}

function millis(column: string): string {
  return `(extract(epoch from b.${column}) * 1000)::float8 as ${column}`;
}

export function bootstrapOf(row: BootstrapRow): Bootstrap {
  return {
    table: row.table,
    rowsTold: BigInt(row.rows_told),
    rowsEstimated: row.rows_estimated === null ? null : BigInt(row.rows_estimated),
    chunks: BigInt(row.chunks),
    startedAtMs: row.started_at,
    updatedAtMs: row.updated_at,
    finishedAtMs: row.finished_at,
    isOutdated: row.is_outdated,
  };
}
