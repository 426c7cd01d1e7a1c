/** What the helpers need of a Postgres client: its shape, so that no client comes with this library. */

/** A Client or Pool of node-postgres has this shape, and so has any other that answers with `rows`. */
export interface Queryable {
  query(text: string, values?: unknown[]): Promise<QueryAnswer>;
}

export interface QueryAnswer {
  readonly rows: readonly unknown[];
  /** What the server says it did, `COMMIT` or `ROLLBACK` after a commit. */
  readonly command?: string;
}

/** One connection of a pool. Given back with an error it is closed and not used again. */
export interface Session extends Queryable {
  release(broken?: Error): void;
  /** Clients that are event emitters say here that their connection broke; unheard, that ends the process. */
  on?(event: 'error', listener: (error: Error) => void): unknown;
  off?(event: 'error', listener: (error: Error) => void): unknown;
}

/** A Pool of node-postgres has this shape. */
export interface SessionPool {
  connect(): Promise<Session>;
}
