/** The delivery of the interleaving checker over the real relay and Kafka: what counts is what stands in the topics. */
import type { Codec } from '@tidemark/contracts';
import { jobTopics } from '@tidemark/jobs';
import { assertNever, sleep } from '@tidemark/keyspace';
import type { LogCluster } from '@tidemark/log';
import { createKafkaCluster } from '@tidemark/log/kafka';
import { type OutboxReader, positionTopicOf } from '@tidemark/outbox';
import { openPostgresOutbox } from '@tidemark/outbox/postgres';
import { type Delivered, type Delivery, type Fault, type Scene, topicsOf } from '@tidemark/outbox/testing';
import { createTopic, deleteTopic, waitFor } from '@tidemark/testkit';
import { readPosition } from '../../position-topic.ts';
import { limitRecords } from '../harness.ts';
import { type Crew, createCrew, type Member } from './crew.ts';
import {
  CATCH_UP_MS_MAX,
  DEED_PAUSE_MS,
  LOOK_MS,
  OVERTAKING_MS_MAX,
  PARTITIONS,
  RELAYS_MAX,
  RIVALS_MS_MAX,
  TAKES_ALL,
  TAKES_SMALL,
} from './limits.ts';
import { MOMENTS } from './mortal.ts';
import type { RelayPlant } from './plants.ts';
import { readDelivered } from './topics.ts';

export interface RelayDelivery {
  readonly kafka: string;
  readonly codec: Codec;
  readonly plant?: RelayPlant;
}

export function byRelay({ kafka, codec, plant = {} }: RelayDelivery): Delivery {
  return {
    async start(scene) {
      const { namespace } = scene.outbox;
      const topics = topicsOf(scene.outbox);
      await Promise.all(
        topics.map((topic) =>
          createTopic(topic, {
            kafka,
            partitions: PARTITIONS,
            configs: { 'max.message.bytes': String(TAKES_SMALL) },
          }),
        ),
      );
      const crew = createCrew(scene, { kafka, codec, plant });
      const cluster = createKafkaCluster({ brokers: [kafka], clientId: 'interleaving-watch' });
      // Two take turns from the start, so that the first who falters is replaced while rows come.
      crew.add();
      crew.add();
      const end = async (): Promise<void> => {
        await crew.end();
        await cluster.close();
        const own = [...topics, positionTopicOf(namespace), jobTopics(namespace).jobs];
        for (const topic of own) await deleteTopic(topic, { kafka }).catch(() => {});
      };
      try {
        await waitFor('a relay that publishes', () => crew.members.some(({ publishes }) => publishes), {
          timeoutMs: CATCH_UP_MS_MAX,
        });
      } catch (error) {
        await end();
        throw error;
      }
      const deliver = async (): Promise<Delivered> => {
        try {
          const play: Play = { scene, crew, topics, plant, cluster, codec, tally: new Map() };
          await mischief(play);
          const stuck = await catchUp(play);
          await crew.end();
          const { rows, waited, parked, transactions } = await readDelivered({ cluster, codec, namespace, topics });
          return {
            rows,
            waited,
            faults: [...crew.faults, ...stuck],
            happened: { transactions, parked, fenced: crew.fenced, ...Object.fromEntries(play.tally) },
          };
        } finally {
          await end();
        }
      };
      return { delivered: deliver() };
    },
  };
}

interface Play {
  readonly scene: Scene;
  readonly crew: Crew;
  readonly topics: readonly string[];
  readonly plant: RelayPlant;
  readonly cluster: LogCluster;
  readonly codec: Codec;
  /** What was done, and how often. */
  readonly tally: Map<string, number>;
}

const DEEDS = [
  'kill',
  'kill',
  'stop',
  'stop',
  'go on',
  'go on',
  'end',
  'add',
  'limit',
  'overtake',
  'overtake',
] as const;

/** Until nobody writes any more. */
async function mischief(play: Play): Promise<void> {
  const { scene, crew } = play;
  const { chance } = scene;
  // The most telling ones first, so that a run on a busy machine has them, too.
  const opening: (typeof DEEDS)[number][] = ['overtake', 'kill'];
  while (!scene.isOver() && crew.faults.length === 0) {
    if (crew.members.every(({ life }) => life.isStopped)) crew.add();
    await sleep(chance.between(...DEED_PAUSE_MS));
    const deed = opening.shift() ?? chance.pick(DEEDS);
    if (await carryOut(play, deed)) play.tally.set(deed, (play.tally.get(deed) ?? 0) + 1);
  }
}

/** False when there was nobody to do it to. */
async function carryOut(play: Play, deed: (typeof DEEDS)[number]): Promise<boolean> {
  const {
    scene: { chance },
    crew,
    plant,
    topics,
  } = play;
  const running = crew.members.filter(({ life }) => !life.isStopped);
  switch (deed) {
    case 'kill':
    case 'stop':
      if (running.length === 0 || (deed === 'kill' && plant.neverKilled === true)) return false;
      // Rather one that does something.
      (running.find(({ publishes }) => publishes) ?? chance.pick(running)).life.plan(deed, chance.pick(MOMENTS));
      return true;
    case 'go on': {
      const stopped = crew.members.filter(({ life }) => life.isStopped);
      if (stopped.length === 0) return false;
      chance.pick(stopped).life.goOn();
      return true;
    }
    case 'end':
      if (running.length === 0) return false;
      void chance.pick(running).stop();
      return true;
    case 'add':
      if (crew.members.length >= RELAYS_MAX) return false;
      crew.add();
      return true;
    case 'limit':
      await limitRecords(chance.pick(topics), chance.oneIn(2) ? TAKES_SMALL : TAKES_ALL);
      return true;
    case 'overtake':
      return overtake(play);
    default:
      return assertNever(deed);
  }
}

/**
 * One is stopped just before it commits. Another takes over, and is stopped when it has read its position. Then the
 * older commits, if nothing keeps it from that, and the newer after it.
 */
async function overtake({ crew, scene }: Play): Promise<boolean> {
  const endMs = performance.now() + OVERTAKING_MS_MAX;
  const publisher = () => crew.members.find(({ publishes, life }) => publishes && !life.isStopped);
  while (publisher() === undefined && performance.now() < endMs && !scene.isOver()) await sleep(LOOK_MS);
  const older = publisher();
  if (older === undefined) return false;
  if (crew.members.length < 2) crew.add();
  older.life.plan('stop', 'before commit');
  const others = crew.members.filter((member) => member !== older);
  const hasNewer = () => others.some(({ life, publishes }) => life.isStopped && publishes);
  while (!(older.life.isStopped && hasNewer()) && performance.now() < endMs) {
    if (!older.life.isStopped && scene.isOver()) break; // nothing may be left to commit
    if (older.life.isStopped)
      for (const { life, publishes } of others) if (!publishes) life.plan('stop', 'before readPage');
    await sleep(LOOK_MS);
  }
  const cameAbout = older.life.isStopped && hasNewer();
  older.life.goOn();
  if (cameAbout) await untilCommitted(older);
  older.life.goOn();
  for (const { life } of others) life.goOn();
  return cameAbout;
}

/** Of one that was about to commit: returns when it has, or was refused. */
async function untilCommitted(older: Member): Promise<void> {
  const endMs = performance.now() + OVERTAKING_MS_MAX;
  older.life.plan('stop', 'after commit');
  while (!older.life.isStopped && older.publishes && performance.now() < endMs) await sleep(LOOK_MS);
}

/** Everybody goes on, and every topic takes every row: returns when nothing waits, or says what has not come. */
async function catchUp({ scene, crew, topics, cluster, codec }: Play): Promise<readonly Fault[]> {
  const { url, namespace } = scene.outbox;
  for (const { life } of crew.members) life.goOn();
  for (const topic of topics) await limitRecords(topic, TAKES_ALL);
  const watch = openPostgresOutbox({ url, namespace, relay: 'main', owner: 'interleaving watch' });
  try {
    const fromMs = performance.now();
    for (;;) {
      if (crew.faults.length > 0) return [];
      if (performance.now() > fromMs + RIVALS_MS_MAX)
        await Promise.all(crew.members.slice(1).map((rival) => rival.stop()));
      if (crew.members.length === 0) crew.add();
      const waiting = await whatWaits({ reader: watch.reader, cluster, codec, namespace });
      if (waiting === undefined) return [];
      if (performance.now() > fromMs + CATCH_UP_MS_MAX)
        return [{ kind: 'stuck', text: `after ${CATCH_UP_MS_MAX} ms ${waiting}` }];
      await watch.reader.askRetry({ topic: null, key: null });
      await sleep(LOOK_MS);
    }
  } finally {
    await watch.close();
  }
}

async function whatWaits({
  reader,
  cluster,
  codec,
  namespace,
}: {
  readonly reader: OutboxReader;
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly namespace: string;
}): Promise<string | undefined> {
  const topic = await cluster.catalog.describe(positionTopicOf(namespace));
  if (topic === undefined) return 'there is no position topic';
  const stored = await readPosition(cluster, codec, { topic, relay: 'main', signal: new AbortController().signal });
  if (stored === undefined) return 'there is no position';
  if (stored.parked.size > 0) return `${stored.parked.size} keys are parked`;
  const { rows } = await reader.backlog(stored.position);
  return rows > 0 ? `${rows} rows wait` : undefined;
}
