import { expect, it } from 'vitest';
import { NOTHING_VISIBLE } from '../../snapshot.ts';
import { type Database, openDatabase, type Session } from './database.ts';
import { relayQueries } from './queries.ts';
import { createPostgresReader } from './reader.ts';

const LIMITS = { rowsMax: 100, bytesMax: 1_000_000 };
const TAKEN = {
  in_recovery: false,
  snapshot: '10:10:',
  wal_insert_lsn: '0/10',
  timeline_hex: '00000001',
  system_identifier: '1',
  last_position: '10',
};

it('a window whose rows could not be sorted in time while it was opened is opened without them, until one was read', async () => {
  const opened: string[] = [];
  const database: Database = openDatabase({ url: 'postgres://nobody:1/none', applicationName: 'test' });
  const client = {
    async query(asked: string | { readonly text: string }) {
      const text = typeof asked === 'string' ? asked : asked.text;
      if (text.startsWith('begin isolation level repeatable read')) {
        opened.push('with rows');
        if (opened.length === 2) throw new Error('Query read timeout');
        return [
          { command: 'SELECT', rows: [TAKEN] },
          { command: 'FETCH', rows: [] },
          { command: 'SELECT', rows: [{ flush_lsn: '0/10', last_position: '10' }] },
        ];
      }
      if (text.includes('in_recovery')) {
        opened.push('alone');
        return { rows: [TAKEN] };
      }
      if (text.includes('as first')) return { rows: [{ first: '1' }] };
      if (text.includes('declare page')) opened.push(text.includes('enable_sort = off') ? 'scanned' : 'sorted');
      return [{ rows: [] }];
    },
  };
  const session: Session = {
    use: (work) => work(client as unknown as Parameters<typeof work>[0]),
    close: async () => {},
  };
  const reader = createPostgresReader(database, session, relayQueries('test'));
  const after = { ...NOTHING_VISIBLE };
  const read = async (): Promise<void> => {
    const { snapshot } = await reader.takeSnapshot(after);
    await reader.readPage({ after, upTo: snapshot }, 0n, LIMITS);
  };
  await reader.readPage({ after, upTo: (await reader.takeSnapshot()).snapshot }, 0n, LIMITS);
  expect(opened.splice(0)).toEqual(['alone', 'sorted']);
  await read();
  await expect(read()).rejects.toThrow('timeout');
  await read();
  await read();
  expect(opened).toEqual(['with rows', 'with rows', 'alone', 'scanned', 'with rows']);
});
