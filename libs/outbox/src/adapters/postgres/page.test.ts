import { expect, it } from 'vitest';
import type { SnapshotWindow } from '../../snapshot.ts';
import type { Session } from './database.ts';
import { createPageReader } from './page.ts';
import { relayQueries } from './queries.ts';

const LIMITS = { rowsMax: 100, bytesMax: 1_000_000 };

function windowUpTo(xmax: bigint): SnapshotWindow {
  return { after: { xmin: 1n, xmax: 1n, running: [] }, upTo: { xmin: xmax, xmax, running: [] } };
}

it('a window that the server could not sort in time is scanned at the next try, though it is a newer one', async () => {
  const opened: string[] = [];
  /** Ten rows were ever drawn, so every window is guessed small. */
  const client = {
    async query(asked: string | { readonly text: string }) {
      const text = typeof asked === 'string' ? asked : asked.text;
      if (text.includes('last_position')) return { rows: [{ last_position: '10' }] };
      if (text.includes('as first')) return { rows: [{ first: '1' }] };
      if (!text.includes('declare page')) return { rows: [] };
      opened.push(text.includes('enable_sort = off') ? 'scanned' : 'sorted');
      if (opened.length === 2) throw new Error('canceling statement due to statement timeout');
      return [{ rows: [] }];
    },
  };
  const session: Pick<Session, 'use'> = { use: (work) => work(client as unknown as Parameters<typeof work>[0]) };
  const pages = createPageReader({ ...session, close: async () => {} }, relayQueries('test'));
  await pages.read(windowUpTo(10n), 0n, LIMITS);
  await expect(pages.read(windowUpTo(20n), 0n, LIMITS)).rejects.toThrow('timeout');
  await pages.read(windowUpTo(30n), 0n, LIMITS);
  await pages.read(windowUpTo(40n), 0n, LIMITS);
  expect(opened).toEqual(['sorted', 'sorted', 'scanned', 'sorted']);
});
