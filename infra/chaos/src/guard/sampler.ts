/** Looks at the low watermarks all the time, with a client of its own, and holds them against what Kafka says is needed. */
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Codec,
  type JobState,
  type RangeCheckpoint,
  readRecord,
  SchemaName,
  type SeriesState,
} from '@tidemark/contracts';
import { jobTopics } from '@tidemark/jobs';
import { createMarkLog } from '@tidemark/jobs/kafka';
import type { Offset } from '@tidemark/keyspace';
import { type LogCluster, type LogRecord, scanTopic } from '@tidemark/log';
import { kafkaClient } from '@tidemark/testkit';
import { type Accounts, accountsOf, isReleased, placeText, type SeenRelease, unaccounted } from './account.ts';
import { breachesOf, isAtFloor, type Look } from './audit.ts';
import { ACCOUNT_WAIT_MS, GROUP, SAMPLE_EVERY_MS } from './limits.ts';
import { type Durable, type Need, needsAt } from './needs.ts';

interface Bounds {
  readonly topic: string;
  readonly partition: number;
  readonly low: bigint;
  readonly high: bigint;
}

/** `accounts`: undefined when an open transaction held them back. */
type WholeLook = Look & { readonly highWatermark: bigint; readonly accounts: Accounts | undefined };

export interface Sampler {
  readonly samples: number;
  /** Looks that found a partition cut exactly as far as somebody allowed. */
  readonly atFloor: number;
  readonly breaches: readonly string[];
  /** Looks that were held against the guards' own account, and what did not agree with it. */
  readonly accountLooks: number;
  readonly accountBreaches: readonly string[];
  /** All that were ever seen. */
  readonly releases: readonly SeenRelease[];
  /** As of the last look. */
  readonly durable: Durable;
  /** One more look, now. */
  look(): Promise<readonly WholeLook[]>;
  /** What the guards account for, now. */
  accounts(): Promise<Accounts>;
  /** Rejects when it cannot look any more, which no fault explains. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

export interface SamplerOptions {
  readonly kafka: string;
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly namespace: string;
  readonly topics: readonly string[];
  /** Held by the group. */
  readonly groupTopic: string;
  /** Where floors of jobs may be released. */
  readonly releasedTopic: string;
}

export function startSampler(options: SamplerOptions): Sampler {
  const states = new Map<string, JobState>();
  const series = new Map<string, SeriesState>();
  const ranges = new Map<string, Map<string, RangeCheckpoint>>();
  const cursors = new Map<string, readonly Offset[]>();
  const durable: Durable = {
    states,
    series,
    get checkpoints() {
      return new Map([...ranges].map(([jobId, each]) => [jobId, [...each.values()]]));
    },
  };
  const breaches = new Set<string>();
  const accountBreaches = new Set<string>();
  const releases = new Map<string, SeenRelease>();
  const marks = createMarkLog(options);
  let accountLooks = 0;
  let samples = 0;
  let atFloor = 0;
  let isStopped = false;

  const take = async ({ value }: LogRecord): Promise<void> => {
    if (value === null) return;
    const decoded = options.codec.decodeCached(value) ?? (await options.codec.decode(value));
    if (decoded.schema === SchemaName.jobState) {
      const state = readRecord(decoded, SchemaName.jobState);
      states.set(state.jobId, state);
    } else if (decoded.schema === SchemaName.seriesState) {
      const state = readRecord(decoded, SchemaName.seriesState);
      series.set(state.series, state);
    } else if (decoded.schema === SchemaName.rangeCheckpoint) {
      const range = readRecord(decoded, SchemaName.rangeCheckpoint);
      const known = ranges.get(range.jobId) ?? new Map<string, RangeCheckpoint>();
      const key = `${range.partition}/${range.start}`;
      if ((known.get(key)?.version ?? -1n) <= range.version) known.set(key, range);
      ranges.set(range.jobId, known);
    }
  };

  /**
   * All that was acknowledged until now: up to the high watermark, not only the stable offset, because the broker
   * acknowledges a commit before its markers are there.
   */
  const readDurable = async (): Promise<void> => {
    const { jobState, checkpoints } = jobTopics(options.namespace);
    for (const name of [jobState, checkpoints]) {
      const topic = await options.cluster.catalog.describe(name);
      if (topic === undefined) continue;
      const scanned = await scanTopic({ ...options, topic, visit: take, cursors: cursors.get(name) ?? [] });
      cursors.set(name, scanned.cursors);
    }
  };

  /** One after the other: two readings side by side could put an older state over a newer one. */
  let queue: Promise<unknown> = Promise.resolve();
  const look: Sampler['look'] = () => {
    const turn = queue.then(lookNow);
    queue = turn.catch(() => undefined);
    return turn;
  };

  const accounts = async (wait: { readonly openTransactionWaitMs?: number } = {}): Promise<Accounts> => {
    const { marks: cuts, watches } = await marks.load(wait);
    const known = accountsOf(cuts.values(), watches.values());
    for (const watch of watches.values())
      for (const { holder, atMs } of watch.releases) {
        const { topic, partition } = watch;
        releases.set(`${placeText(watch)} ${holder}`, { topic, partition, holder, atMs });
      }
    return known;
  };

  const lookNow: Sampler['look'] = async () => {
    const bounds = await lowWatermarks(options);
    await readDurable();
    const group = await committed(options);
    // Last: marks and releases are durable before anything is cut by them.
    const known = await accounts({ openTransactionWaitMs: ACCOUNT_WAIT_MS }).catch(() => undefined);
    return bounds.map(({ topic, partition, low, high }) => {
      const place = { topic, partition };
      const held: Need[] =
        topic === options.groupTopic ? [{ holder: `group ${GROUP}`, offset: group.get(partition) ?? 0n }] : [];
      const account = known?.get(placeText(place));
      // Whether a job still holds where it may be released nobody can say without the account.
      const isTold = known !== undefined || topic !== options.releasedTopic;
      const needs = isTold ? needsAt(durable, place).filter(({ holder }) => !isReleased(account, holder)) : [];
      return { ...place, lowWatermark: low, highWatermark: high, needs: [...needs, ...held], accounts: known };
    });
  };

  const lookAgainAndAgain = async (): Promise<void> => {
    while (!isStopped) {
      const looks = await look().catch(() => []); // no broker, no look
      for (const each of looks) {
        samples += 1;
        if (isAtFloor(each)) atFloor += 1;
        for (const breach of breachesOf(each)) breaches.add(breach);
        if (each.accounts === undefined) continue;
        accountLooks += 1;
        const more = unaccounted(each, each.accounts.get(placeText(each)));
        if (more !== undefined) accountBreaches.add(more);
      }
      await delay(SAMPLE_EVERY_MS);
    }
  };
  const looking = lookAgainAndAgain();
  const failed = looking.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);

  return {
    get samples() {
      return samples;
    },
    get atFloor() {
      return atFloor;
    },
    get breaches() {
      return [...breaches];
    },
    get accountLooks() {
      return accountLooks;
    },
    get accountBreaches() {
      return [...accountBreaches];
    },
    get releases() {
      return [...releases.values()];
    },
    durable,
    look,
    accounts: () => accounts(),
    failed,
    async stop() {
      isStopped = true;
      await looking.catch(() => undefined);
    },
  };
}

/** A new client each time: an old one learns of new partitions after minutes. */
export async function lowWatermarks({
  kafka,
  topics,
}: Pick<SamplerOptions, 'kafka' | 'topics'>): Promise<readonly Bounds[]> {
  return asAdmin(kafka, async (admin) => {
    const bounds: Bounds[] = [];
    for (const topic of topics)
      for (const { partition, low, high } of await admin.fetchTopicOffsets(topic))
        bounds.push({ topic, partition, low: BigInt(low), high: BigInt(high) });
    return bounds;
  });
}

async function committed({ kafka, groupTopic }: SamplerOptions): Promise<ReadonlyMap<number, bigint>> {
  return asAdmin(kafka, async (admin) => {
    const [found] = await admin.fetchOffsets({ groupId: GROUP, topics: [groupTopic] });
    const known = found?.partitions.filter(({ offset }) => offset !== '-1') ?? [];
    return new Map(known.map(({ partition, offset }) => [partition, BigInt(offset)]));
  });
}

async function asAdmin<T>(
  kafka: string,
  work: (admin: ReturnType<ReturnType<typeof kafkaClient>['admin']>) => Promise<T>,
): Promise<T> {
  const admin = kafkaClient({ kafka }).admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}
