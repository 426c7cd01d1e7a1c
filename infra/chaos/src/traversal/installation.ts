/** Everything that a run has of its own: broker, Redis, database, topics, programs, load. Nothing that others use is touched. */
import { createCodec } from '@tidemark/contracts/registry';
import { createRedisCursorStore } from '@tidemark/cursors/redis';
import { createJobLog } from '@tidemark/jobs/kafka';
import { createKafkaCluster } from '@tidemark/log/kafka';
import { createTopic, environmentOf, privateKafka, uniqueNamespace } from '@tidemark/testkit';
import { chanceOf } from '@tidemark/testkit/chance';
import { BROKER_SETTINGS } from '../limits.ts';
import { keep, type OnClose, type Opened, openInOrder } from '../openings.ts';
import type { RunOptions } from '../system.ts';
import { createSinkDatabase } from './database.ts';
import { openJobDesk } from './job-desk.ts';
import {
  CHECKPOINT_EVERY_MS,
  CUT_PARTITIONS,
  DISTRIBUTORS,
  FILL_PER_SECOND,
  GUARD_EVERY_MS,
  GUARD_POLICY,
  HANDLERS,
  LEASE_TTL_MS,
  SLOTS,
  STREAMS,
  WORKERS,
} from './limits.ts';
import { openChaosRedis } from './private-redis.ts';
import { createTraversalFleet, type TraversalFleet } from './programs.ts';
import type { Scene } from './scene.ts';
import { startStreams } from './streams.ts';

/** What runs that share this installation do differently. */
export interface Layout {
  readonly streams: readonly { readonly name: string; readonly partitions: number }[];
  /** Topics that nobody fills by himself. */
  readonly others: readonly { readonly name: string; readonly partitions: number }[];
  readonly fillPerSecond: number;
  readonly guards: number;
  /** Whether windows of the topics are asked for all the time. */
  readonly isAsking: boolean;
  /** Of the guards, for topics of this namespace. */
  guardSettings(namespace: string): Readonly<Record<string, string>>;
}

const TRAVERSAL: Layout = {
  streams: STREAMS,
  others: [],
  fillPerSecond: FILL_PER_SECOND,
  guards: 1,
  isAsking: true,
  guardSettings: (namespace) => ({
    TIDEMARK_GUARD_TOPICS: STREAMS.map(({ name }) => `${namespace}.${name}=${GUARD_POLICY}`).join(','),
    TIDEMARK_GUARD_EVERY_MS: String(GUARD_EVERY_MS),
  }),
};

export function install(options: RunOptions): Promise<Opened<Scene>> {
  return openInOrder((onClose) => openScene(options, TRAVERSAL, onClose), options.progress);
}

export async function openScene(options: RunOptions, layout: Layout, onClose: OnClose): Promise<Scene> {
  const { progress, seed, registry } = options;
  const namespace = uniqueNamespace('chaos');
  const [broker, redis, database] = await Promise.all([
    keep(onClose, privateKafka({ settings: BROKER_SETTINGS }), (service) => service.stop()),
    keep(onClose, openChaosRedis(), (service) => service.stop()),
    keep(onClose, createSinkDatabase(options.postgres, namespace), (created) => created.drop()),
  ]);
  const kafka = broker.address;
  const streamsOf = new Map(layout.streams.map(({ name, partitions }) => [`${namespace}.${name}`, partitions]));
  const cutTopic = `${namespace}.cut`;
  const others = layout.others.map(({ name, partitions }) => [`${namespace}.${name}`, partitions] as const);
  for (const [topic, partitions] of [...streamsOf, ...others, [cutTopic, CUT_PARTITIONS] as const])
    await createTopic(topic, { partitions, kafka });

  const env = {
    ...environmentOf(namespace, { kafka, redis: redis.url, postgres: database.url, registry }),
    TIDEMARK_HANDLERS: HANDLERS,
    TIDEMARK_SLOTS: String(SLOTS),
    TIDEMARK_LEASE_TTL_MS: String(LEASE_TTL_MS),
    TIDEMARK_CHECKPOINT_EVERY_MS: String(CHECKPOINT_EVERY_MS),
    ...layout.guardSettings(namespace),
  };
  const fleet = createTraversalFleet({ env, progress });
  onClose(() => fleet.stopAll());
  await startPrograms(fleet, layout.guards);

  const { pool } = database;
  const { fillPerSecond } = layout;
  const filling = startStreams({ kafka, pool, filled: streamsOf, fillPerSecond });
  const streams = await keep(onClose, filling, (opened) => opened.stop());
  const cluster = createKafkaCluster({ brokers: [kafka], clientId: 'tidemark-chaos' });
  onClose(() => cluster.close());
  const codec = createCodec({ registryUrl: registry });
  const jobLog = createJobLog({ cluster, codec, namespace });
  onClose(() => jobLog.close());
  const store = await keep(onClose, createRedisCursorStore({ url: redis.url, namespace }), (opened) => opened.close());
  const filledTopics = [...streamsOf.keys()];
  const desk = openJobDesk({
    ...{ jobLog, chance: chanceOf(seed), topics: layout.isAsking ? filledTopics : [], progress },
    acknowledged: streams.acknowledged,
  });
  onClose(() => desk.close());
  const notes = { takeoversMs: [], inHand: [], lossesAtMs: [], outages: [], complaints: [] };
  return {
    ...{ namespace, env, kafka, cluster, codec, broker, redis, store, pool, fleet, streams, desk },
    ...{ filledTopics, cutTopic, notes, progress },
  };
}

async function startPrograms(fleet: TraversalFleet, guardCount: number): Promise<void> {
  const first = fleet.start('distributor');
  await first.program.logged('program.started');
  for (let place = 2; place <= DISTRIBUTORS; place++) fleet.start('distributor');
  const workers = Array.from({ length: WORKERS }, () => fleet.start('worker'));
  const guards = Array.from({ length: guardCount }, () => fleet.start('guard'));
  await Promise.all([...workers, ...guards].map(({ program }) => program.logged('program.started')));
}
