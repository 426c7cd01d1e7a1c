/** The parts with their clients: the services that a command needs, and no others, so that a topic can be read while Redis is down. */
import type { Codec } from '@tidemark/contracts';
import { createCodec } from '@tidemark/contracts/registry';
import type { FloorStore } from '@tidemark/cursors';
import { createRedisCursorStore, createRedisFloorStore, createRedisSchedule } from '@tidemark/cursors/redis';
import type { MarkLog } from '@tidemark/jobs';
import { createJobLog, createMarkLog } from '@tidemark/jobs/kafka';
import { createKafkaCluster } from '@tidemark/log/kafka';
import { createOpened } from '@tidemark/observability';
import type { ControlParts } from './parts.ts';
import { assertReachable } from './reachable.ts';

export interface ConnectConfig {
  /** host:port each. */
  readonly kafka: readonly string[];
  readonly redisUrl: string;
  readonly registryUrl: string;
  readonly namespace: string;
  readonly clientId: string;
}

export type ServiceName = 'kafka' | 'redis' | 'registry';

/** What needs no Redis. The registry is asked only when something is encoded or decoded. */
export interface LogConnections extends Pick<ControlParts, 'cluster' | 'codec' | 'jobLog' | 'namespace'> {
  /** Closes what was opened. */
  close(): Promise<void>;
}

export interface Connections extends LogConnections, ControlParts {}

/** Throws TidemarkError `unavailable` that names what of `needed` is down, and where it was looked for. */
export function connectLog(config: ConnectConfig, needed: readonly ServiceName[]): Promise<LogConnections> {
  return opening(config, needed, async (_, log) => log);
}

export interface FloorConnections extends LogConnections {
  readonly floors: FloorStore;
  readonly marks: MarkLog;
}

/** What floors and marks need. Throws as `connect` does. */
export function connectFloors(config: ConnectConfig): Promise<FloorConnections> {
  return opening(config, EVERYTHING, async ({ keep }, log) => ({
    ...log,
    floors: keep(await createRedisFloorStore(redisOf(config))),
    marks: createMarkLog(log),
  }));
}

/** Floors alone, for a look. Throws as `connect` does. */
export async function openFloors(config: ConnectConfig): Promise<FloorStore> {
  await assertReachable([servicesOf(config).redis]);
  return createRedisFloorStore(redisOf(config));
}

/** Everything. Throws as `connectLog` does, and `config` for a Redis that could lose cursors. */
export function connect(config: ConnectConfig): Promise<Connections> {
  return opening(config, EVERYTHING, async ({ keep }, log) => ({
    ...log,
    store: keep(await createRedisCursorStore(redisOf(config))),
    schedule: keep(await createRedisSchedule(redisOf(config))),
  }));
}

const EVERYTHING: readonly ServiceName[] = ['kafka', 'redis', 'registry'];

/** Kafka and the jobs in it, and what is opened beside them; all of it is closed again when the rest does not open. */
async function opening<Parts extends LogConnections>(
  config: ConnectConfig,
  needed: readonly ServiceName[],
  more: (opened: ReturnType<typeof createOpened>, log: LogConnections) => Promise<Parts>,
): Promise<Parts> {
  await assertReachable(needed.map((name) => servicesOf(config)[name]));
  const opened = createOpened();
  const { namespace } = config;
  const cluster = opened.keep(createKafkaCluster({ brokers: config.kafka, clientId: config.clientId }));
  const codec: Codec = createCodec({ registryUrl: config.registryUrl });
  const jobLog = opened.keep(createJobLog({ cluster, codec, namespace }));
  try {
    return await more(opened, { namespace, cluster, codec, jobLog, close: () => opened.closeAll() });
  } catch (error) {
    await opened.closeAll();
    throw error;
  }
}

function redisOf({ redisUrl, namespace }: ConnectConfig) {
  return { url: redisUrl, namespace };
}

function servicesOf(config: ConnectConfig) {
  return {
    kafka: { name: 'Kafka', addresses: config.kafka, variable: 'TIDEMARK_KAFKA' },
    redis: { name: 'Redis', addresses: [config.redisUrl], variable: 'TIDEMARK_REDIS' },
    registry: { name: 'the schema registry', addresses: [config.registryUrl], variable: 'TIDEMARK_REGISTRY' },
  } as const;
}
