/**
 * The fence: effects and the check of the owner's token are one transaction. A table remembers the youngest token of each
 * (job, range); an owner that finds a younger one writes nothing. (Fencing tokens, as Martin Kleppmann describes them in
 * "How to do distributed locking", 2016.)
 *
 * Why it holds: the check updates the range's row and so keeps its row lock until the commit. An older owner that comes
 * later waits for the lock, then sees the younger token and is refused. An older owner that came first has committed
 * before the younger one is granted the row, and the younger one, which handles the same chunk again, finds what it wrote.
 * So a fence does not replace the unique key or the state check for what is handled again; it ends the writing of the dead.
 */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { fenced, type HandlerContext, type Outcome } from '../../handler.ts';
import { quotedTable } from './names.ts';
import type { Queryable, Session, SessionPool } from './queryable.ts';

/** One table for each installation of Tidemark that writes here: ids of jobs are unique within one. */
export const TOKEN_TABLE = 'tidemark_tokens';

/**
 * For a migration, or for `open`: harmless when the table is there, also when several workers start at once. A row may be
 * deleted when its job is over.
 */
export function tokenTableSql(table: string = TOKEN_TABLE): string {
  // Without the lock two sessions may both find no table and one fails. "C" compares bytes, whatever the database's language.
  return `select pg_advisory_xact_lock(hashtextextended('${quotedTable(table).replaceAll("'", "''")}', 0));
    create table if not exists ${quotedTable(table)} (
      job_id   text not null,
      range_id text not null,
      token    text collate "C" not null,
      primary key (job_id, range_id)
    )`;
}

export interface TokenCheck<Answer> {
  readonly context: Pick<HandlerContext, 'jobId' | 'rangeId' | 'token' | 'signal'>;
  /** `table` or `schema.table`, as `tokenTableSql` makes it. */
  readonly table?: string;
  /** The effects, all of them through `sink`, which is one connection in an open transaction. */
  readonly effect: (sink: Queryable) => Promise<Answer>;
}

/**
 * Answers what `effect` answers, after the commit, or `fenced(seen)` without having called it. A throw of `effect`, or an
 * aborted signal before the commit, rolls back and is thrown on. The isolation is read committed, so that `effect` sees
 * what others committed while this owner waited for the lock.
 */
export async function underToken<Answer>(
  pool: SessionPool,
  { context, table = TOKEN_TABLE, effect }: TokenCheck<Answer>,
): Promise<Answer | Outcome> {
  const session = await pool.connect();
  let broken: Error | undefined;
  // A connection may break between two statements; the next one hears of it, too, so nothing is lost by listening only.
  const onBroken = (error: Error): void => {
    broken = error;
  };
  session.on?.('error', onBroken);
  try {
    await session.query('begin isolation level read committed');
    const seen = await youngestToken(session, quotedTable(table), context);
    if (seen !== context.token) {
      await session.query('rollback');
      return fenced(seen);
    }
    const answer = await effect(session);
    context.signal.throwIfAborted();
    await commit(session);
    return answer;
  } catch (error) {
    broken ??= await brokenAfterRollback(session);
    throw error;
  } finally {
    session.off?.('error', onBroken);
    session.release(broken);
  }
}

/** Takes the range's row and leaves the younger of both tokens in it; equal to ours when we may write. */
async function youngestToken(
  session: Session,
  table: string,
  { jobId, rangeId, token }: TokenCheck<unknown>['context'],
): Promise<string> {
  const { rows } = await session.query(
    `insert into ${table} as kept (job_id, range_id, token) values ($1, $2, $3)
     on conflict (job_id, range_id)
     do update set token = greatest(kept.token collate "C", excluded.token collate "C") returning token`,
    [jobId, rangeId, token],
  );
  return (rows[0] as { readonly token: string }).token;
}

/** Postgres answers a commit with ROLLBACK, and no error, when an error of a statement was caught and not thrown on. */
async function commit(session: Session): Promise<void> {
  const { command } = await session.query('commit');
  if (command !== 'ROLLBACK') return;
  throw new TidemarkError({
    code: 'ROLLED_BACK',
    class: ErrorClass.transient,
    message: 'a statement of the transaction had failed, so Postgres rolled it back instead of committing it',
  });
}

/** A connection that cannot roll back is not used again; Postgres rolls back when it is gone. */
async function brokenAfterRollback(session: Session): Promise<Error | undefined> {
  try {
    await session.query('rollback');
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
