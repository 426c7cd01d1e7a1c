import { services, uniqueNamespace, waitFor } from '@tidemark/testkit';
import { Client, Pool } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  classifyFault,
  done,
  duplicate,
  fenced,
  missing,
  noneDue,
  type Outcome,
  present,
  skip,
} from '../../../index.ts';
import { contextOf, tokenOfGrant } from '../../testing/index.ts';
import {
  classifyPostgres,
  insertEachOnce,
  insertOnce,
  type Queryable,
  type StateMove,
  tokenTableSql,
  underToken,
  verifyRows,
  whenState,
} from './index.ts';

const schema = uniqueNamespace('handlers');
const tokens = `${schema}.tokens`;
const pool = new Pool({ connectionString: services().postgres, max: 8 });
/** Two owners, each on a connection of its own. */
const older = new Client(services().postgres);
const younger = new Client(services().postgres);

beforeAll(async () => {
  await Promise.all([older.connect(), younger.connect()]);
  await pool.query(`create schema ${schema}`);
});

afterAll(async () => {
  await pool.query(`drop schema ${schema} cascade`);
  await Promise.all([pool.end(), older.end(), younger.end()]);
});

beforeEach(async () => {
  await pool.query(`
    drop table if exists ${schema}.orders, ${schema}.mails, ${schema}."Odd ""name""", ${tokens};
    create table ${schema}.orders (id bigint primary key, state text not null, moved_at timestamptz, moves int not null default 0);
    create table ${schema}.mails (user_id bigint, kind text, body bytea, at timestamptz, tags text[], doc jsonb, amount numeric,
      place int not null default 7, primary key (user_id, kind));
    create table ${schema}."Odd ""name""" ("Key" text primary key, "order" int)`);
  await pool.query(tokenTableSql(tokens));
});

async function rowsOf(text: string): Promise<readonly unknown[]> {
  return (await pool.query(text)).rows;
}

/** Resolves when the connection waits for a lock: from then on it is the other one's turn. */
async function waitsForLock(client: Client): Promise<void> {
  const pid = (client as unknown as { readonly processID: number }).processID;
  await waitFor('the second owner to wait for the lock', async () => {
    const found = await pool.query(`select from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'`, [pid]);
    return found.rowCount === 1 ? true : undefined;
  });
}

describe('verifyRows', () => {
  it('counts the rows of each key, whatever their type, and asks for none where none is due', async () => {
    const mails = `${schema}.mails`;
    const row = { user_id: 9_007_199_254_740_993n, kind: 'it\'s "odd"' };
    await insertEachOnce(pool, { table: mails, key: ['user_id', 'kind'], rows: [row, { user_id: 2n, kind: 'a' }] });
    const keys = [row, null, { user_id: 2n, kind: 'b' }, row, { kind: 'a', user_id: 2n }];
    expect(await verifyRows(pool, { table: mails, keys })).toEqual([
      present(),
      noneDue('no row due'),
      missing(),
      present(),
      present(),
    ]);
    expect(await verifyRows(pool, { table: mails, keys: [null] })).toEqual([noneDue('no row due')]);
    // Of one column only: two rows hold it.
    await insertEachOnce(pool, { table: mails, key: ['user_id', 'kind'], rows: [{ user_id: 3n, kind: 'a' }] });
    expect(await verifyRows(pool, { table: mails, keys: [{ kind: 'a' }] })).toEqual([duplicate(2)]);
  });

  it('refuses a key without a value, which equals nothing', async () => {
    await expect(verifyRows(pool, { table: `${schema}.mails`, keys: [{ user_id: null }] })).rejects.toMatchObject({
      code: 'KEY_WITHOUT_VALUE',
    });
    await expect(verifyRows(pool, { table: `${schema}.mails`, keys: [{}] })).rejects.toMatchObject({ code: 'NO_KEY' });
  });
});

describe('whenState', () => {
  const order: StateMove = {
    table: `${schema}.orders`,
    key: { id: 9_007_199_254_740_993n },
    column: 'state',
    is: 'PAID',
    becomes: 'SHIPPED',
  };
  const stateIs = (state: string) =>
    pool.query(`insert into ${schema}.orders (id, state) values ($1, $2)`, [9_007_199_254_740_993n, state]);

  it('moves a row that is in the state, with the other columns, and finds it moved the second time', async () => {
    await stateIs('PAID');
    const move = { ...order, set: { moves: 1 } };
    expect(await whenState(pool, move)).toEqual(done());
    expect(await whenState(pool, move)).toEqual(skip('already SHIPPED'));
    expect(await rowsOf(`select state, moves from ${schema}.orders`)).toEqual([{ state: 'SHIPPED', moves: 1 }]);
  });

  it('names the state in which a row is left alone, and a row that is not there', async () => {
    expect(await whenState(pool, order)).toEqual(skip('not found'));
    await stateIs('CANCELLED');
    expect(await whenState(pool, order)).toEqual(skip('is CANCELLED'));
    expect(await whenState(pool, { ...order, is: ['PAID', 'CANCELLED'] })).toEqual(done());
  });

  it('moves once when two owners come at once: the second waits, and finds it moved', async () => {
    await stateIs('PAID');
    await older.query('begin');
    expect(await whenState(older, order)).toEqual(done());
    const second = whenState(younger, order);
    await waitsForLock(younger);
    await older.query('commit');
    expect(await second).toEqual(skip('already SHIPPED'));
  });

  it('moves the row when the first owner rolls back, and names the state that the first one left', async () => {
    await stateIs('PAID');
    await older.query('begin');
    await whenState(older, order);
    const second = whenState(younger, order);
    await waitsForLock(younger);
    await older.query('rollback');
    expect(await second).toEqual(done());

    await older.query('begin');
    await whenState(older, { ...order, is: 'SHIPPED', becomes: 'RETURNED' });
    const third = whenState(younger, { ...order, is: 'SHIPPED', becomes: 'DELIVERED' });
    await waitsForLock(younger);
    await older.query('commit');
    expect(await third).toEqual(skip('is RETURNED'));
  });

  it('looks again at a row that came into the state between the look and the answer', async () => {
    await stateIs('NEW');
    const between: Queryable = {
      async query(text, values) {
        if (text.startsWith('select')) await pool.query(`update ${schema}.orders set state = 'PAID'`);
        return await pool.query(text, values);
      },
    };
    expect(await whenState(between, order)).toEqual(done());
  });

  it('gives up on a row that never stands still, as worth another try', async () => {
    const flickering: Queryable = {
      query: async (text) => ({ rows: text.startsWith('select') ? [{ state: 'PAID' }] : [] }),
    };
    await expect(whenState(flickering, order)).rejects.toMatchObject({ code: 'STATE_UNSTEADY', class: 'transient' });
  });

  it('refuses a key that would find no row, or every one', async () => {
    await expect(whenState(pool, { ...order, key: {} })).rejects.toMatchObject({ code: 'NO_KEY', class: 'config' });
    await expect(whenState(pool, { ...order, key: { id: null } })).rejects.toMatchObject({
      code: 'KEY_WITHOUT_VALUE',
      class: 'data',
    });
  });
});

describe('insertOnce', () => {
  const mails = { table: `${schema}.mails`, key: ['user_id', 'kind'] };

  it('inserts once, and says the second time that the key was seen', async () => {
    const row = { user_id: 1n, kind: 'welcome', amount: '0.10' };
    expect(await insertOnce(pool, { ...mails, row })).toEqual(done());
    expect(await insertOnce(pool, { ...mails, row: { ...row, amount: '9' } })).toEqual(skip('seen'));
    expect(await rowsOf(`select user_id, amount, place from ${schema}.mails`)).toEqual([
      { user_id: '1', amount: '0.10', place: 7 },
    ]);
  });

  it('keeps what the columns hold: big numbers, bytes, instants, lists, documents', async () => {
    const row = {
      user_id: 9_223_372_036_854_775_807n,
      kind: `it's "é" \\ and\nmore`,
      body: Buffer.from([0, 255, 92]),
      at: new Date('2026-11-29T19:59:11.123Z'),
      tags: ['a', 'b,"c"', null],
      doc: { deep: [1, { n: 2n, nothing: null }] },
      amount: 0.1,
    };
    expect(await insertOnce(pool, { ...mails, row })).toEqual(done());
    expect(await rowsOf(`select * from ${schema}.mails`)).toEqual([
      {
        ...row,
        user_id: '9223372036854775807',
        doc: { deep: [1, { n: '2', nothing: null }] },
        amount: '0.1',
        place: 7,
      },
    ]);
  });

  it('answers a batch in its order: new ones done, known ones and repeats within it seen', async () => {
    await insertOnce(pool, { ...mails, row: { user_id: 2n, kind: 'a' } });
    const rows = [3n, 2n, 1n, 3n, 1n].map((user_id) => ({ user_id, kind: 'a' }));
    expect(await insertEachOnce(pool, { ...mails, rows })).toEqual([
      done(),
      skip('seen'),
      done(),
      skip('seen'),
      skip('seen'),
    ]);
    expect(await insertEachOnce(pool, { ...mails, rows: [] })).toEqual([]);
    expect(await rowsOf(`select user_id from ${schema}.mails order by 1`)).toHaveLength(3);
  });

  it('takes names as they are, whatever they hold', async () => {
    const odd = { table: `${schema}.Odd "name"`, key: ['Key'] };
    expect(await insertOnce(pool, { ...odd, row: { Key: `x'; drop table users; --`, order: 3 } })).toEqual(done());
    expect(await insertOnce(pool, { ...odd, row: { Key: `x'; drop table users; --`, order: 4 } })).toEqual(
      skip('seen'),
    );
    expect(await rowsOf(`select "order" from ${schema}."Odd ""name"""`)).toEqual([{ order: 3 }]);
  });

  it('waits for the owner who is inserting the same key, then has seen it, or inserts when that one rolls back', async () => {
    const row = { user_id: 1n, kind: 'welcome' };
    for (const [end, answer] of [
      ['rollback', done()],
      ['commit', skip('seen')],
    ] as const) {
      await pool.query(`truncate ${schema}.mails`);
      await older.query('begin');
      expect(await insertOnce(older, { ...mails, row })).toEqual(done());
      const second = insertOnce(younger, { ...mails, row });
      await waitsForLock(younger);
      await older.query(end);
      expect(await second).toEqual(answer);
      expect(await rowsOf(`select from ${schema}.mails`)).toHaveLength(1);
    }
  });

  it('never waits in a circle: many owners with the same rows in any order insert each of them once', async () => {
    const rows = Array.from({ length: 200 }, (_, i) => ({ user_id: BigInt(i), kind: 'a' }));
    const answers = await Promise.all(
      [rows, rows.toReversed(), rows, rows.toReversed(), rows, rows.toReversed()].map((batch) =>
        insertEachOnce(pool, { ...mails, rows: batch }),
      ),
    );
    expect(answers.flat().filter((outcome) => outcome.kind === 'done')).toHaveLength(200);
    expect(await rowsOf(`select from ${schema}.mails`)).toHaveLength(200);
  });

  it('inserts all rows of a batch or none', async () => {
    const rows = [
      { user_id: 1n, kind: 'a', place: 1 },
      { user_id: 2n, kind: 'a', place: 'x' },
    ];
    await expect(insertEachOnce(pool, { ...mails, rows })).rejects.toMatchObject({ code: '22P02' });
    expect(await rowsOf(`select from ${schema}.mails`)).toEqual([]);
  });

  it('refuses keys without a value, numbers that are none, and a table without the index', async () => {
    const refused = async (row: object, key = mails.key): Promise<unknown> =>
      await insertOnce(pool, { table: mails.table, key, row: { user_id: 1n, kind: 'a', ...row } }).then(
        (outcome) => outcome,
        (error: unknown) => (error as { readonly code?: string }).code,
      );
    expect(await refused({ kind: null })).toBe('KEY_WITHOUT_VALUE');
    expect(await refused({ amount: Number.NaN })).toBe('NOT_A_NUMBER');
    expect(await refused({ at: new Date(Number.NaN) })).toBe('NOT_A_NUMBER');
    expect(await refused({}, ['user_id'])).toBe('42P10');
    expect(await refused({}, [])).toBe('NO_KEY');
  });
});

describe('underToken', () => {
  const note = (sink: Queryable, id: number): Promise<unknown> =>
    sink.query(`insert into ${schema}.orders (id, state) values ($1, 'by token')`, [id]);
  const write = (grant: number, id: number, more: object = {}): Promise<Outcome> =>
    underToken(pool, {
      context: contextOf({ token: tokenOfGrant(grant), ...more }),
      table: tokens,
      effect: async (sink) => {
        await note(sink, id);
        return done();
      },
    });
  const ids = async (): Promise<readonly unknown[]> =>
    (await rowsOf(`select id::int from ${schema}.orders order by 1`)).map((row) => (row as { readonly id: number }).id);

  it('commits effect and token together, and refuses an older token with the one it has seen', async () => {
    expect(await write(9, 1)).toEqual(done());
    expect(await write(10, 2)).toEqual(done());
    expect(await write(9, 3)).toEqual(fenced(tokenOfGrant(10)));
    expect(await write(10, 4)).toEqual(done());
    expect(await ids()).toEqual([1, 2, 4]);
  });

  it('compares tokens within one range of one job', async () => {
    await write(9, 1);
    expect(await write(1, 2, { rangeId: 'another' })).toEqual(done());
    expect(await write(1, 3, { jobId: 'another' })).toEqual(done());
    expect(await ids()).toEqual([1, 2, 3]);
  });

  it('makes the older owner wait for the younger one that writes, then refuses it', async () => {
    const both = Promise.withResolvers<void>();
    const youngerWrites = underToken(pool, {
      context: contextOf({ token: tokenOfGrant(2) }),
      table: tokens,
      effect: async (sink) => {
        await note(sink, 2);
        await both.promise;
        return done();
      },
    });
    await waitFor('the younger owner to hold the row', async () => ((await locked()) ? true : undefined));
    const olderWrites = write(1, 1);
    await waitFor('the older owner to wait', async () => ((await waiting()) ? true : undefined));
    both.resolve();
    expect(await youngerWrites).toEqual(done());
    expect(await olderWrites).toEqual(fenced(tokenOfGrant(2)));
    expect(await ids()).toEqual([2]);
  });

  it('lets the younger owner in only after the older one has committed, and it sees what that one wrote', async () => {
    const both = Promise.withResolvers<void>();
    const olderWrites = underToken(pool, {
      context: contextOf({ token: tokenOfGrant(1) }),
      table: tokens,
      effect: async (sink) => {
        await note(sink, 1);
        await both.promise;
        return done();
      },
    });
    await waitFor('the older owner to hold the row', async () => ((await locked()) ? true : undefined));
    const youngerSees = underToken(pool, {
      context: contextOf({ token: tokenOfGrant(2) }),
      table: tokens,
      effect: async (sink) => (await sink.query(`select id::int from ${schema}.orders`)).rows,
    });
    await waitFor('the younger owner to wait', async () => ((await waiting()) ? true : undefined));
    both.resolve();
    expect(await olderWrites).toEqual(done());
    expect(await youngerSees).toEqual([{ id: 1 }]);
    expect(await write(1, 3)).toEqual(fenced(tokenOfGrant(2)));
  });

  it('rolls back what failed, and what was finished after the signal; the token is not kept either', async () => {
    const failing = underToken(pool, {
      context: contextOf({ token: tokenOfGrant(5) }),
      table: tokens,
      effect: async (sink) => {
        await note(sink, 1);
        throw new Error('no more');
      },
    });
    await expect(failing).rejects.toThrow('no more');
    const controller = new AbortController();
    const late = underToken(pool, {
      context: contextOf({ token: tokenOfGrant(5), signal: controller.signal }),
      table: tokens,
      effect: async (sink) => {
        await note(sink, 2);
        controller.abort(new Error('the lease is over'));
        return done();
      },
    });
    await expect(late).rejects.toThrow('the lease is over');
    expect(await write(1, 3)).toEqual(done());
    expect(await ids()).toEqual([3]);
  });

  it('does not answer done for a transaction that Postgres did not commit', async () => {
    const swallowing = underToken(pool, {
      context: contextOf(),
      table: tokens,
      effect: async (sink) => {
        await note(sink, 1);
        await sink.query('select 1 / 0').catch(() => undefined);
        return done();
      },
    });
    await expect(swallowing).rejects.toMatchObject({ code: 'ROLLED_BACK', class: 'transient' });
    expect(await ids()).toEqual([]);
  });

  it('leaves no transaction and no connection behind, however it ends', async () => {
    const one = new Pool({ connectionString: services().postgres, max: 1 });
    const context = contextOf();
    const effect = async (sink: Queryable): Promise<Outcome> => {
      await sink.query('select 1 / 0');
      return done();
    };
    await expect(underToken(one, { context, table: tokens, effect })).rejects.toMatchObject({ code: '22012' });
    const { pid } = (await one.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0] ?? { pid: 0 };
    const killed = underToken(one, {
      context,
      table: tokens,
      effect: async (sink) => {
        await pool.query('select pg_terminate_backend($1)', [pid]);
        return await effect(sink);
      },
    });
    const error: unknown = await killed.catch((thrown: unknown) => thrown);
    expect(classifyFault(error, classifyPostgres).kind).toBe('unavailable');
    expect((await one.query('select now() = statement_timestamp() as alone')).rows).toEqual([{ alone: true }]);
    await one.end();
  });

  it('makes its table once, also when many workers start at once', async () => {
    await pool.query(`drop table ${tokens}`);
    await Promise.all(Array.from({ length: 8 }, () => pool.query(tokenTableSql(tokens))));
    expect(await write(1, 1)).toEqual(done());
  });

  async function locked(): Promise<boolean> {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity where state = 'idle in transaction' and query like '%' || $1 || '%'`,
      [schema],
    );
    return rowCount === 1;
  }

  async function waiting(): Promise<boolean> {
    const { rowCount } = await pool.query(
      `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%' || $1 || '%'`,
      [schema],
    );
    return rowCount === 1;
  }
});

describe('classifyPostgres', () => {
  it.each([
    ['22003', 'data'],
    ['23505', 'data'],
    ['42P01', 'unavailable'],
    ['42501', 'unavailable'],
    ['57P01', 'unavailable'],
    ['40P01', 'transient'],
    ['40001', 'transient'],
  ])('takes %s as %s', (code, kind) => {
    expect(classifyFault(Object.assign(new Error('text'), { code }), classifyPostgres).kind).toBe(kind);
  });

  it('knows the errors of node-postgres that have no code', () => {
    expect(classifyFault(new Error('Connection terminated unexpectedly'), classifyPostgres).kind).toBe('unavailable');
  });
});
