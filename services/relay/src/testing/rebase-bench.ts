/** What tests of a rebase need beside a relay: the truth of an outbox, and the commands of an operator. */
import { headerText } from '@tidemark/log';
import { createKafkaCluster } from '@tidemark/log/kafka';
import { silentLogger } from '@tidemark/observability';
import { openPostgresOutbox, openRebaseStore } from '@tidemark/outbox/postgres';
import { services, waitFor } from '@tidemark/testkit';
import { Client, type ClientBase } from 'pg';
import { onTestFinished } from 'vitest';
import { applyRebase, inspectRebase, type RebaseOptions } from '../rebase.ts';
import type { RebaseReport } from '../rebase-look.ts';
import type { Relay } from '../relay.ts';
import type { RelayTest } from './harness.ts';

export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.end().catch(() => {}));
  return client;
}

/** Published rows stay: the table is then everything that was ever committed. Returns how to end that. */
export async function keepRows(client: ClientBase, namespace: string): Promise<() => Promise<void>> {
  const schema = `"${namespace}"`;
  await client.query(`
    create function ${schema}.keep_rows() returns trigger language plpgsql as 'begin return null; end';
    create trigger keep_rows before delete on ${schema}.outbox for each row execute function ${schema}.keep_rows()`);
  return () => letGo(client, namespace);
}

export async function letGo(client: ClientBase, namespace: string): Promise<void> {
  await client.query(`drop trigger keep_rows on "${namespace}".outbox`);
}

/** Ids by key, in the order of position. */
export async function committedIds(
  client: ClientBase,
  namespace: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await client.query<{ key: string; ids: string[] }>(
    `select key, array_agg(id::text order by position) as ids from "${namespace}".outbox group by key`,
  );
  return new Map(rows.map(({ key, ids }) => [key, ids]));
}

/** The same of what topics hold. */
export async function publishedIds(
  test: RelayTest,
  topics: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const ids = new Map<string, string[]>();
  for (const topic of topics) {
    for (const record of await test.readAll(topic)) {
      const key = record.key?.toString() ?? '';
      const id = headerText(record, 'ce_id') ?? '';
      ids.set(key, [...(ids.get(key) ?? []), id]);
    }
  }
  return ids;
}

/** The lease row has heard of a position that all rows of now are published in. */
export async function witnessed(client: ClientBase, namespace: string): Promise<void> {
  await waitFor('the lease row to hear of the position', async () => {
    const { rows } = await client.query<{ heard: boolean | null }>(
      `select bool_and(pg_visible_in_snapshot(txid, published)) as heard
       from "${namespace}".outbox, "${namespace}".relays`,
    );
    return rows[0]?.heard === true;
  });
}

export interface RebaseCommands {
  inspect(options?: Partial<RebaseOptions>): Promise<RebaseReport>;
  apply(options?: Partial<RebaseOptions>): Promise<RebaseReport>;
}

export function rebaseOf(test: RelayTest, url: string = services().postgres): RebaseCommands {
  const { namespace, codec } = test;
  let runs = 0;
  async function run(
    work: (options: RebaseOptions) => Promise<RebaseReport>,
    options: Partial<RebaseOptions>,
  ): Promise<RebaseReport> {
    runs += 1;
    const where = { url, namespace, relay: 'main', owner: `rebase ${runs}` };
    const outbox = openPostgresOutbox(where);
    const store = openRebaseStore(where);
    const cluster = createKafkaCluster({ brokers: [services().kafka], clientId: 'rebase-test' });
    try {
      return await work({
        ...{ outbox, store, cluster, codec, namespace, name: 'main', compare: false, force: false },
        consents: { movedKeys: false, unknownRows: undefined },
        replicationFactor: 1,
        logger: silentLogger,
        ...options,
      });
    } finally {
      await Promise.allSettled([outbox.close(), store.close(), cluster.close()]);
    }
  }
  return {
    inspect: (options = {}) => run(inspectRebase, options),
    apply: (options = {}) => run(applyRebase, options),
  };
}

export async function failureOf(relay: Relay): Promise<unknown> {
  return relay.ended.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** Starts relays of the same name on another database. */
export function relayOn(test: RelayTest, url: string): () => Promise<Relay> {
  let relays = 0;
  return async () => {
    relays += 1;
    const { namespace } = test;
    const outbox = openPostgresOutbox({ url, namespace, relay: 'main', owner: `elsewhere ${relays}` });
    onTestFinished(() => outbox.close());
    return test.startRelay({ outbox });
  };
}
