/** Sessions that carry out their plans. What the server refuses (deadlocks, serialisation, twins of a key) is part of the play. */
import { assertNever, codeOf, sleep } from '@tidemark/keyspace';
import type { Client } from 'pg';
import type { TestOutbox } from '../test-outbox.ts';
import { DEADLOCK_TIMEOUT_MS, LARGE_CHARACTERS, LOCK_TIMEOUT_MS } from './limits.ts';
import type { Step, TransactionPlan, Verdict } from './plan.ts';
import { topicOf } from './stage.ts';

export interface Tally {
  commits: number;
  rollbacks: number;
  rollbacksToSavepoint: number;
  prepared: number;
  /** Codes of Postgres, and how often. */
  readonly refused: Map<string, number>;
}

export function newTally(): Tally {
  return { commits: 0, rollbacks: 0, rollbacksToSavepoint: 0, prepared: 0, refused: new Map() };
}

/** Serialisation, deadlock, a key that is taken, a snapshot that cannot see a deferrable key, no slot to prepare in. */
const REFUSALS: ReadonlySet<string> = new Set(['40001', '40P01', '23505', '0A000', '53200']);

/** Ends what was prepared; not a writer itself, so that none waits for a transaction that only it could end. */
export interface Preparations {
  later(gid: string, verdict: Verdict, afterMs: number): void;
  allEnded(): Promise<void>;
}

export function endPreparations(client: Client): Preparations {
  const ends: Promise<unknown>[] = [];
  let last: Promise<unknown> = Promise.resolve();
  return {
    later(gid, verdict, afterMs) {
      const end = sleep(afterMs).then(() => {
        const ended = last.then(() => client.query(`${verdict} prepared '${gid}'`));
        last = ended.catch(() => {}); // told by allEnded
        return ended;
      });
      end.catch(() => {});
      ends.push(end);
    },
    async allEnded() {
      await Promise.all(ends);
    },
  };
}

export interface Writer {
  readonly outbox: TestOutbox;
  readonly session: Client;
  /** Unique to the writer. */
  readonly name: string;
  readonly preparations: Preparations;
  readonly tally: Tally;
}

export async function runWriter(writer: Writer, plans: readonly TransactionPlan[]): Promise<void> {
  await writer.session.query(
    `set deadlock_timeout = ${DEADLOCK_TIMEOUT_MS}; set lock_timeout = ${LOCK_TIMEOUT_MS}; set search_path = ${writer.outbox.schema}`,
  );
  for (const [i, plan] of plans.entries()) await runTransaction(writer, plan, `${writer.name}-${i}`);
}

async function runTransaction(writer: Writer, plan: TransactionPlan, name: string): Promise<void> {
  const { session, tally, preparations, outbox } = writer;
  await session.query(`begin isolation level ${plan.isolation}`);
  const savepoints: string[] = [];
  for (const step of plan.steps) {
    const isDone = await takeStep(writer, step, savepoints).then(
      () => true,
      (error: unknown) => {
        noteRefusal(tally, error);
        return false;
      },
    );
    if (isDone) continue;
    const newest = savepoints.at(-1);
    if (newest === undefined || !plan.recovers) {
      await session.query('rollback');
      tally.rollbacks += 1;
      return;
    }
    await session.query(`rollback to savepoint ${newest}`);
    tally.rollbacksToSavepoint += 1;
  }
  const gid = `${outbox.namespace}-${name}`;
  try {
    await session.query(plan.preparedForMs === undefined ? plan.verdict : `prepare transaction '${gid}'`);
  } catch (error) {
    noteRefusal(tally, error);
    await session.query('rollback');
    tally.rollbacks += 1;
    return;
  }
  if (plan.preparedForMs !== undefined) {
    tally.prepared += 1;
    preparations.later(gid, plan.verdict, plan.preparedForMs);
  }
  if (plan.verdict === 'rollback') tally.rollbacks += 1;
  else tally.commits += 1;
}

function noteRefusal(tally: Tally, error: unknown): void {
  const code = codeOf(error);
  if (code === undefined || !REFUSALS.has(code)) throw error;
  tally.refused.set(code, (tally.refused.get(code) ?? 0) + 1);
}

async function takeStep(writer: Writer, step: Step, savepoints: string[]): Promise<void> {
  const { session, tally, outbox } = writer;
  switch (step.kind) {
    case 'pause':
      // The pauses are the point: they let locks, ids and positions be drawn in different orders.
      await pause(step.ms);
      return;
    case 'take id':
      await session.query('select pg_current_xact_id()');
      return;
    case 'publish':
      await session.query(
        `select publish('${topicOf(outbox, 'published')}', '${step.key}', 'said', ${payloadOf(step)})`,
      );
      await noteAfter(session, step.notedAfterMs);
      return;
    case 'lock and publish':
      await session.query(`select from locks where key = '${step.key}' for update`);
      await pause(step.afterMs);
      await session.query(
        `select publish('${topicOf(outbox, 'locked')}', '${step.key}', 'said', ${payloadOf(step)}, ordered => false)`,
      );
      await noteAfter(session, 0);
      return;
    case 'request job':
      await session.query('select ask_job()');
      await noteAfter(session, 0);
      return;
    case 'write':
      await session.query(writeStatement(step));
      await noteAfter(session, step.notedAfterMs);
      return;
    case 'savepoint': {
      const name = `s${savepoints.length}`;
      await session.query(`savepoint ${name}`);
      savepoints.push(name);
      return;
    }
    case 'roll back to savepoint':
      if (savepoints.length === 0) return;
      await session.query(`rollback to savepoint ${savepoints.at(-1)}`);
      tally.rollbacksToSavepoint += 1;
      return;
    case 'release savepoint': {
      const name = savepoints.pop();
      if (name !== undefined) await session.query(`release savepoint ${name}`);
      return;
    }
    default:
      assertNever(step);
  }
}

function payloadOf({ isLarge }: { readonly isLarge: boolean }): string {
  return isLarge ? `jsonb_build_object('text', repeat('x', ${LARGE_CHARACTERS}))` : `'{}'`;
}

async function noteAfter(session: Client, ms: number): Promise<void> {
  await pause(ms);
  await session.query('select note()');
}

async function pause(ms: number): Promise<void> {
  if (ms > 0) await sleep(ms);
}

function writeStatement({ table, verb, key, to, value }: Extract<Step, { kind: 'write' }>): string {
  // It only grows: what would be refused by its trigger is tested elsewhere.
  if (table === 'entries') return `insert into entries (key, value) values ('${key}', ${value})`;
  switch (verb) {
    case 'put':
      // A deferrable key cannot be an arbiter of ON CONFLICT; two may bring it, and one of them learns it at commit.
      return table === 'items'
        ? `insert into items (key, value) values ('${key}', ${value}) on conflict (key) do update set value = excluded.value`
        : `with found as (update slots set value = ${value} where key = '${key}' returning 1)
           insert into slots (key, value) select '${key}', ${value} where not exists (select from found)`;
    case 'update':
      return `update ${table} set value = ${value} where key = '${key}'`;
    case 'delete':
      return `delete from ${table} where key = '${key}'`;
    case 'move':
      return `update ${table} set key = '${to}' where key = '${key}'`;
    default:
      return assertNever(verb);
  }
}
