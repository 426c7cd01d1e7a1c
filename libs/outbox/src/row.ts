/** One row of the outbox. Values of the database stay text, so that no digit passes through a JavaScript number. */
export interface OutboxRow {
  readonly position: bigint;
  readonly id: string;
  readonly topic: string;
  readonly key: string;
  readonly type: string;
  /** JSON text as Postgres prints it; null is a tombstone. */
  readonly payload: string | null;
  /** Header names and values; `tm_table` names the table that a captured row is of. */
  readonly headers: Readonly<Record<string, string | null>>;
  /** ISO instant in UTC with microseconds. */
  readonly occurredAt: string;
}

/** Of most rows, and shared by them. */
export const NO_HEADERS: OutboxRow['headers'] = Object.freeze({});
