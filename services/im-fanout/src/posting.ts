/** The application: it fills its tables and posts messages in ordinary transactions, of which some are rolled back. It knows nothing of topics. */
import { setTimeout as delay } from 'node:timers/promises';
import type { ClientBase, Pool } from 'pg';
import { checkedSchema } from './tables.ts';
import type { Membership, Message, World } from './world.ts';
import { randomFrom } from './world.ts';

/** People send one message at a time, imports a few: transactions of 1 to this many. */
const MESSAGES_PER_TRANSACTION_MAX = 20;
/** One transaction of this many is rolled back after its insert. */
const ROLLBACK_EVERY = 10;
/** A rolled-back message must never be seen, so it has an id that no committed one has. */
const ROLLED_BACK_ID_FIRST = 9_000_000;
/** Ids of messages that are posted while the job runs. */
const LATER_ID_FIRST = 1_000_000;

export interface Posted {
  readonly committed: number;
  readonly rolledBack: number;
}

export async function fillTables(
  client: ClientBase,
  options: { readonly schema: string; readonly users: number; readonly world: World },
): Promise<void> {
  const s = checkedSchema(options.schema);
  const { world } = options;
  await client.query(`insert into ${s}.users select n, 'user ' || n from generate_series(1, $1::int) n`, [
    options.users,
  ]);
  await client.query(`insert into ${s}.groups select n, 'group ' || n from generate_series(1, $1::int) n`, [
    world.groupSizes.length,
  ]);
  await client.query(
    `insert into ${s}.members (group_id, member_id) select * from unnest($1::bigint[], $2::bigint[])`,
    columnsOf(world.memberships),
  );
  await client.query(`analyze ${s}.users, ${s}.groups, ${s}.members`);
}

/** Posts all messages on the pool's connections; returns when every transaction has ended. */
export async function postMessages(
  pool: Pool,
  options: {
    readonly schema: string;
    readonly messages: readonly Message[];
    readonly seed: number;
    readonly writers: number;
  },
): Promise<Posted> {
  const random = randomFrom(options.seed);
  const transactions: { messages: readonly Message[]; rollback: boolean }[] = [];
  let next = 0;
  while (next < options.messages.length) {
    const count = 1 + Math.floor(random() * MESSAGES_PER_TRANSACTION_MAX);
    const messages = options.messages.slice(next, next + count);
    if (transactions.length % ROLLBACK_EVERY === ROLLBACK_EVERY - 1) {
      transactions.push({
        messages: messages.map((message) => ({ ...message, id: ROLLED_BACK_ID_FIRST + message.id })),
        rollback: true,
      });
    }
    transactions.push({ messages, rollback: false });
    next += count;
  }
  const queue = transactions.values();
  await Promise.all(
    Array.from({ length: options.writers }, async () => {
      // One iterator for all writers: each takes the next transaction that nobody has.
      for (const transaction of queue) await post(pool, { ...transaction, schema: options.schema });
    }),
  );
  const count = (rollback: boolean): number =>
    transactions.filter((t) => t.rollback === rollback).reduce((sum, t) => sum + t.messages.length, 0);
  return { committed: count(false), rolledBack: count(true) };
}

/** Goes on posting until it is stopped, one transaction each `everyMs`. */
export function keepPosting(
  pool: Pool,
  options: { readonly schema: string; readonly world: World; readonly everyMs: number },
): { stop(): Promise<Posted> } {
  const ending = new AbortController();
  let committed = 0;
  let rolledBack = 0;
  const posting = (async () => {
    for (let round = 0; !ending.signal.aborted; round++) {
      const template = options.world.messages[round % options.world.messages.length];
      if (template === undefined) return;
      const rollback = round % ROLLBACK_EVERY === ROLLBACK_EVERY - 1;
      const id = rollback ? ROLLED_BACK_ID_FIRST + LATER_ID_FIRST + round : LATER_ID_FIRST + round;
      await post(pool, { schema: options.schema, messages: [{ ...template, id }], rollback });
      if (rollback) rolledBack++;
      else committed++;
      await delay(options.everyMs, undefined, { signal: ending.signal }).catch(() => {});
    }
  })();
  // Whoever stops it hears of a fault; until then it must not end the process.
  posting.catch(() => {});
  return {
    async stop() {
      ending.abort();
      await posting;
      return { committed, rolledBack };
    },
  };
}

export async function recallMessages(
  client: ClientBase,
  options: { readonly schema: string; readonly messageIds: readonly number[] },
): Promise<void> {
  await client.query(
    `update ${checkedSchema(options.schema)}.messages set recalled_at = clock_timestamp() where id = any($1::bigint[])`,
    [options.messageIds],
  );
}

export async function leaveAndMute(
  client: ClientBase,
  options: { readonly schema: string; readonly left: readonly Membership[]; readonly muted: readonly Membership[] },
): Promise<void> {
  const s = checkedSchema(options.schema);
  const change = (assignment: string): string =>
    `update ${s}.members m set ${assignment} from unnest($1::bigint[], $2::bigint[]) as who(group_id, member_id)
      where m.group_id = who.group_id and m.member_id = who.member_id`;
  await client.query(change('left_at = clock_timestamp()'), columnsOf(options.left));
  await client.query(change('muted = true'), columnsOf(options.muted));
}

async function post(
  pool: Pool,
  options: { readonly schema: string; readonly messages: readonly Message[]; readonly rollback: boolean },
): Promise<void> {
  const { messages } = options;
  const client = await pool.connect();
  let fault: Error | undefined;
  try {
    await client.query('begin');
    await client.query(
      `insert into ${checkedSchema(options.schema)}.messages (id, group_id, sender_id, body)
       select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[])`,
      [
        messages.map(({ id }) => id),
        messages.map(({ groupId }) => groupId),
        messages.map(({ senderId }) => senderId),
        messages.map(({ body }) => body),
      ],
    );
    await client.query(options.rollback ? 'rollback' : 'commit');
  } catch (error) {
    fault = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    client.release(fault);
  }
}

function columnsOf(memberships: readonly Membership[]): [number[], number[]] {
  return [memberships.map(({ groupId }) => groupId), memberships.map(({ memberId }) => memberId)];
}
