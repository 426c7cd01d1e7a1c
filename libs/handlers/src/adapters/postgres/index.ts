/** Effects that may be asked for twice, in Postgres. Loads no client: yours is taken by its shape. */
export { classifyPostgres } from './classify-postgres.ts';
export { insertEachOnce, insertOnce, type UniqueKey } from './insert-once.ts';
export type { QueryAnswer, Queryable, Session, SessionPool } from './queryable.ts';
export type { Row } from './rows-as-json.ts';
export { TOKEN_TABLE, type TokenCheck, tokenTableSql, underToken } from './under-token.ts';
export { verifyRows } from './verify-rows.ts';
export { type StateMove, whenState } from './when-state.ts';
