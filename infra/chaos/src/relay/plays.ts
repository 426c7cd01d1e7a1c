/** The kinds of transactions that the load is made of. Every statement is noted while its locks are held (see the stage). */
import { setTimeout as delay } from 'node:timers/promises';
import { publish, requestJob } from '@tidemark/outbox/postgres';
import type { Chance } from '@tidemark/testkit/chance';
import type { ClientBase } from 'pg';
import {
  BULK_KEYS,
  BULK_PAUSE_MS,
  BULK_ROWS,
  HOT_KEYS,
  LONG_MS,
  PAUSE_MS,
  REQUEST_PAUSE_MS,
  STEP_PAUSE_MS,
  STEPS_MAX,
} from './limits.ts';
import type { Topics } from './stage.ts';

export interface Stage {
  readonly namespace: string;
  readonly topics: Topics;
}

export interface Play {
  readonly pauseMs: { readonly min: number; readonly max: number };
  run(client: ClientBase, chance: Chance, stage: Stage & { readonly label: string }): Promise<'commit' | 'rollback'>;
}

const ROLLBACK_SHARE = 1 / 8;

const publisher: Play = {
  pauseMs: PAUSE_MS,
  run: (client, chance, { namespace, topics }) =>
    inSteps(client, chance, async () => {
      const key = hotKey(chance);
      await publish(client, { namespace, topic: topics.events, key, type: 'said', payload: '{"by": "hand"}' });
    }),
};

const table: Play = {
  pauseMs: PAUSE_MS,
  run: (client, chance) => inSteps(client, chance, () => changeItem(client, chance)),
};

const locker: Play = {
  pauseMs: PAUSE_MS,
  run: (client, chance, { namespace, topics }) =>
    inSteps(client, chance, async () => {
      const key = hotKey(chance);
      await client.query('select from locks where key = $1 for update', [key]);
      await stepPause(chance);
      const event = { namespace, topic: topics.locked, key, type: 'said', payload: '{}', ordered: false };
      await publish(client, event);
    }),
};

/** Its own keys: it is to hold back nobody but the snapshots. */
const holder: Play = {
  pauseMs: PAUSE_MS,
  async run(client, chance, { namespace, topics }) {
    const key = `long:${chance.between(1, HOT_KEYS)}`;
    await publish(client, { namespace, topic: topics.events, key, type: 'said', payload: '{}' });
    await note(client);
    await delay(chance.between(LONG_MS.min, LONG_MS.max));
    await client.query('insert into items values ($1, 1) on conflict (key) do update set value = items.value + 1', [
      key,
    ]);
    await note(client);
    return verdict(chance);
  },
};

/** Ended by another session, some time later. */
const preparer: Play = {
  pauseMs: PAUSE_MS,
  async run(client, chance, { namespace, topics }) {
    await publish(client, { namespace, topic: topics.events, key: hotKey(chance), type: 'said', payload: '{}' });
    await note(client);
    await changeItem(client, chance);
    await note(client);
    return verdict(chance);
  },
};

const requester: Play = {
  pauseMs: REQUEST_PAUSE_MS,
  async run(client, chance, { namespace, topics, label }) {
    await publish(client, { namespace, topic: topics.events, key: hotKey(chance), type: 'said', payload: '{}' });
    await note(client);
    await requestJob(client, {
      namespace,
      request: { jobId: `job-${label}`, topic: topics.events, handler: 'nobody' },
    });
    await note(client);
    return verdict(chance);
  },
};

const bulk: Play = {
  pauseMs: BULK_PAUSE_MS,
  async run(client, chance, { namespace, topics, label }) {
    if (chance.next() < 0.5) {
      await client.query(
        `select ${namespace}.publish($1, 'bulk:' || i, 'said', '{}') from generate_series(1, $2::int) i`,
        [topics.events, BULK_KEYS],
      );
    } else {
      await fillStock(client, `bulk-${label}`, chance.between(BULK_ROWS.min, BULK_ROWS.max));
    }
    await note(client);
    return verdict(chance);
  },
};

export const PLAYS = { publisher, table, locker, holder, preparer, requester, bulk } as const;

/** Keys `<family>:1`, `<family>:2`, … */
export async function fillStock(client: ClientBase, family: string, rows: number): Promise<void> {
  await client.query(`insert into stock select $1 || ':' || i, i from generate_series(1, $2::int) i`, [family, rows]);
}

/** What was written since the last note, numbered while its locks are held. */
export async function note(client: ClientBase): Promise<void> {
  await client.query('select note()');
}

async function inSteps(client: ClientBase, chance: Chance, step: () => Promise<void>): Promise<'commit' | 'rollback'> {
  // Otherwise the first statement that writes draws the transaction id, behind the lock or in front of it.
  if (chance.next() < 0.5) await client.query('select pg_current_xact_id()');
  const steps = chance.between(1, STEPS_MAX);
  for (let i = 0; i < steps; i += 1) {
    const hasSavepoint = chance.next() < 0.3;
    if (hasSavepoint) await client.query('savepoint here');
    await step();
    await stepPause(chance);
    await note(client);
    if (hasSavepoint) await client.query(chance.next() < 0.5 ? 'rollback to savepoint here' : 'release savepoint here');
  }
  await stepPause(chance);
  return verdict(chance);
}

async function changeItem(client: ClientBase, chance: Chance): Promise<void> {
  const [key, other, value] = [hotKey(chance), hotKey(chance), chance.between(0, 999)];
  const change = chance.next();
  if (change < 0.5) {
    const put = 'insert into items values ($1, $2) on conflict (key) do update set value = excluded.value';
    await client.query(put, [key, value]);
  } else if (change < 0.75) await client.query('update items set value = $2 where key = $1', [key, value]);
  else if (change < 0.9) await client.query('delete from items where key = $1', [key]);
  else await client.query('update items set key = $2 where key = $1', [key, other]);
}

function hotKey(chance: Chance): string {
  return `hot:${chance.between(1, HOT_KEYS)}`;
}

function verdict(chance: Chance): 'commit' | 'rollback' {
  return chance.next() < ROLLBACK_SHARE ? 'rollback' : 'commit';
}

async function stepPause(chance: Chance): Promise<void> {
  await delay(chance.between(STEP_PAUSE_MS.min, STEP_PAUSE_MS.max));
}
