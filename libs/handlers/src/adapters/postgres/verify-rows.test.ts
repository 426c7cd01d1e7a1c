import { expect, it } from 'vitest';
import { verifyRows } from './verify-rows.ts';

it('refuses keys of different columns: by the columns of one of them another would find rows that are not its own', async () => {
  const sink = { query: async () => ({ rows: [{ count: '1' }, { count: '1' }] }) } as never;
  const asked = (...keys: readonly object[]) => verifyRows(sink, { table: 'mails', keys });
  for (const other of [{ id: 2, tenant: 1 }, { tenant: 2 }])
    await expect(asked({ id: 1 }, other)).rejects.toMatchObject({ class: expect.stringMatching(/config|data/) });
  expect(await asked({ id: 1, tenant: 1 }, { tenant: 2, id: 2 })).toHaveLength(2);
});
