/** Everything that a run has of its own: Postgres, broker, topics, relays, load. Only the schema registry is the stack's. */
import { createKafkaCluster } from '@tidemark/log/kafka';
import { installOutbox } from '@tidemark/outbox/postgres';
import { createTopic, environmentOf, privateKafka, privatePostgres, uniqueNamespace } from '@tidemark/testkit';
import { Client } from 'pg';
import { createFleet } from '../fleet.ts';
import { BROKER_SETTINGS } from '../limits.ts';
import { keep, type OnClose, type Opened, openInOrder } from '../openings.ts';
import type { RunOptions } from '../system.ts';
import type { Ledger } from './ledger.ts';
import { HOT_KEYS, LEASE_TTL_MS, PARTITIONS, POSTGRES_SETTINGS, RELAYS, SMALL_LIMIT_BYTES } from './limits.ts';
import { startLoad } from './load.ts';
import type { Scene } from './scene.ts';
import { openSession } from './sessions.ts';
import { setStage, topicsOf } from './stage.ts';
import { startTail } from './tail.ts';

export function install(options: RunOptions): Promise<Opened<Scene>> {
  return openInOrder((onClose) => openScene(options, onClose), options.progress);
}

async function openScene({ progress, seed, registry }: RunOptions, onClose: OnClose): Promise<Scene> {
  const namespace = uniqueNamespace('chaos');
  const topics = topicsOf(namespace);
  const [broker, postgres] = await Promise.all([
    keep(onClose, privateKafka({ settings: BROKER_SETTINGS }), (service) => service.stop()),
    keep(onClose, privatePostgres({ settings: POSTGRES_SETTINGS }), (service) => service.stop()),
  ]);
  const [kafka, url] = [broker.address, postgres.address];
  for (const [name, partitions] of Object.entries(PARTITIONS)) {
    const configs = name === 'docs' ? { 'max.message.bytes': String(SMALL_LIMIT_BYTES) } : {};
    await createTopic(topics[name as keyof typeof PARTITIONS], { partitions, kafka, configs });
  }
  const client = new Client({ connectionString: url });
  await client.connect();
  await installOutbox(client, { namespace });
  await setStage(client, namespace, topics);
  await client.query(`insert into locks select 'hot:' || i from generate_series(1, $1::int) i`, [HOT_KEYS]);
  await client.end();

  const env = {
    ...environmentOf(namespace, { kafka, postgres: url, registry }),
    TIDEMARK_LEASE_TTL_MS: String(LEASE_TTL_MS),
  };
  const fleet = createFleet({ scripts: { relay: 'services/relay/src/main.ts' }, env, progress });
  onClose(() => fleet.stopAll());
  const relays = Array.from({ length: RELAYS }, () => fleet.start('relay'));
  await Promise.all(relays.map(({ program }) => program.logged('program.started')));

  const cluster = createKafkaCluster({ brokers: [kafka], clientId: 'tidemark-chaos' });
  onClose(() => cluster.close());
  const tail = await keep(onClose, startTail(cluster, Object.values(topics)), (opened) => opened.stop());
  const ledger: Ledger = new Map();
  const load = startLoad({ namespace, topics, url, ledger, seed });
  onClose(() => load.stop());
  const notes = { takeoversMs: [], hugeSeenAtKill: [], cutSessions: 0, complaints: [] };
  let names = 0;
  const freshName = (prefix: string): string => {
    names += 1;
    return `${prefix}-${names}`;
  };
  return {
    ...{ namespace, topics, kafka, broker, postgres, fleet, cluster, tail, load, ledger, notes, progress, freshName },
    openSession: () => openSession(url, ledger),
  };
}
