/** Queries that answer one row. */
import type { ClientBase, QueryResult } from 'pg';

export async function one<Row extends object>(
  client: ClientBase,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row> {
  const { rows } = await client.query<Row>(sql, [...values]);
  return firstOf(rows);
}

/** Of several statements in one text, which answer several results, the one that answers rows. */
export async function oneOf<Row extends object>(client: ClientBase, statements: string): Promise<Row> {
  const answer: QueryResult<Row> | readonly QueryResult<Row>[] = await client.query<Row>(statements);
  const results = Array.isArray(answer) ? answer : [answer];
  return firstOf(results.flatMap(({ rows }) => rows));
}

function firstOf<Row>([row]: readonly Row[]): Row {
  if (row === undefined) throw new Error('the query answered no row');
  return row;
}
