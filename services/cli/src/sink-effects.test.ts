import { Client } from 'pg';
import { expect, it } from 'vitest';
import { sinkEffects } from './sink-effects.ts';

it('refuses a redrive, whose effects are those of other places, and names what can tell', async () => {
  const effects = sinkEffects(new Client(), 'select event from ledger', 'orders.dlq');
  await expect(effects.next()).rejects.toMatchObject({
    exitCode: 5,
    message: expect.stringMatching(/a job over orders\.dlq .*: use --handlers/),
  });
});

it('says which row it cannot place, and takes it for no effect', async () => {
  const row = { partition: 0, offset: '7', count: '1' };
  const rows = [row, { ...row, offset: null, count: '2' }];
  const client = {
    query: async (sql: string) => ({ fields: [{ name: 'event' }], rows: sql.startsWith('fetch') ? rows : [] }),
  } as unknown as Client;
  const effects = sinkEffects(client, 'select event from ledger', 'orders');
  expect((await effects.next()).value).toEqual({ partition: 0, offset: 7n, count: 1n });
  await expect(effects.next()).rejects.toMatchObject({
    exitCode: 5,
    message: expect.stringMatching(/2 rows of --sink-sql .*no partition or no offset/),
  });
});
