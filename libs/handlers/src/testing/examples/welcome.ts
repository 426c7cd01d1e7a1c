// welcome.ts
import { defineHandler, skip } from '@tidemark/handlers';
import { classifyPostgres, insertOnce, type Queryable, verifyRows } from '@tidemark/handlers/postgres';

interface User {
  readonly user_id: bigint;
  readonly email: string | null;
}

export const createWelcome = (sink: Queryable) =>
  defineHandler<User>({
    name: 'welcome',
    input: 'avro',
    idempotent: true,
    classify: classifyPostgres,
    handle: async ({ payload: user }) => {
      if (user?.email == null) return skip('no address');
      const row = { user_id: user.user_id, email: user.email };
      return await insertOnce(sink, { table: 'welcome_mails', key: ['user_id'], row });
    },
    verify: (users) => {
      const keys = users.map(({ payload: user }) => (user?.email == null ? null : { user_id: user.user_id }));
      return verifyRows(sink, { table: 'welcome_mails', keys });
    },
  });
