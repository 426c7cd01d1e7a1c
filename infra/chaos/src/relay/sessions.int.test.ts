import { privatePostgres } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import { openSession } from './sessions.ts';

it('a transaction that finds no slot to prepare in is rolled back, and the session goes on', async () => {
  const postgres = await privatePostgres({ settings: { max_prepared_transactions: '1' } });
  const session = openSession(postgres.address, new Map(), { hints: false });
  try {
    await session.ask('create table signed (label text)');
    const prepareAs = (name: string) => async () => ({ prepareAs: name, verdict: 'commit' }) as const;
    expect(await session.transact('first', prepareAs('first'))).toBe('committed');
    expect(await session.transact('second', prepareAs('second'))).toBe('rolled back');
    expect(await session.ask('select gid from pg_prepared_xacts')).toEqual([{ gid: 'first' }]);
    await session.ask("rollback prepared 'first'");
    expect(await session.transact('third', prepareAs('third'))).toBe('committed');
  } finally {
    await session.close();
    await postgres.stop();
  }
});
