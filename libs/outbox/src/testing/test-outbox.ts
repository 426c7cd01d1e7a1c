import { Client } from 'pg';
import { installOutbox, uninstallOutbox } from '../adapters/postgres/index.ts';

export interface TestOutbox {
  readonly url: string;
  readonly namespace: string;
  /** The schema as it stands in SQL. */
  readonly schema: string;
  readonly client: Client;
  /** One more session; closed by `drop`. */
  connect(): Promise<Client>;
  drop(): Promise<void>;
}

export async function openTestOutbox({
  url,
  namespace,
}: {
  readonly url: string;
  readonly namespace: string;
}): Promise<TestOutbox> {
  const sessions: Client[] = [];
  async function connect(): Promise<Client> {
    const session = new Client({ connectionString: url, application_name: `test ${namespace}` });
    // Tests end sessions on purpose; whoever uses one gets the error from the query.
    session.on('error', () => {});
    await session.connect();
    sessions.push(session);
    return session;
  }
  const client = await connect();
  await installOutbox(client, { namespace });
  return {
    url,
    namespace,
    schema: `"${namespace}"`,
    client,
    connect,
    async drop() {
      // One by one: a session that is still open may hold the locks that the drop needs.
      for (const session of sessions) await session.end().catch(() => {});
      const last = new Client({ connectionString: url });
      last.on('error', () => {});
      try {
        await last.connect();
        await uninstallOutbox(last, { namespace });
      } catch {
        // The server of the test is gone, and the outbox with it.
      } finally {
        await last.end().catch(() => {});
      }
    },
  };
}
