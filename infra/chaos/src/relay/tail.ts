/** Our own reader at the end of all topics, through every fault: what it has seen, and when. */
import { setTimeout as delay } from 'node:timers/promises';
import { BEFORE_FIRST, ErrorClass, type Offset, TidemarkError } from '@tidemark/keyspace';
import { follow, headerText, type LogCluster, type LogRecord } from '@tidemark/log';

/** The part of a key in front of its first colon. */
export function familyOf(key: string): string {
  return key.split(':', 1)[0] ?? '';
}

export interface Tail {
  /** Records of the topic whose keys belong to the family. */
  count(topic: string, family: string): number;
  /** Ids in the order of the log, by `topic/partition`. */
  readonly ids: ReadonlyMap<string, readonly string[]>;
  /** Longest time without any record, from the first one until `calm` was called. */
  longestStallMs(): number;
  calm(): void;
  /** Rejects when it cannot read on, which no fault explains. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

const AGAIN_AFTER_MS = 200;

export async function startTail(cluster: LogCluster, topics: readonly string[]): Promise<Tail> {
  const counts = new Map<string, number>();
  const ids = new Map<string, string[]>();
  const ending = new AbortController();
  let newestAtMs: number | undefined;
  let stallMs = 0;
  let isCalm = false;

  const visit = (topic: string, record: LogRecord, partition: number): void => {
    const nowMs = performance.now();
    if (!isCalm && newestAtMs !== undefined) stallMs = Math.max(stallMs, nowMs - newestAtMs);
    newestAtMs = nowMs;
    const family = `${topic}/${familyOf(record.key?.toString() ?? '')}`;
    counts.set(family, (counts.get(family) ?? 0) + 1);
    const id = headerText(record, 'ce_id') ?? `no id at ${record.offset}`;
    const place = `${topic}/${partition}`;
    const known = ids.get(place);
    if (known === undefined) ids.set(place, [id]);
    else known.push(id);
  };

  const followed = topics.map(async (name) => {
    const topic = await cluster.catalog.describe(name);
    if (topic === undefined) throw new Error(`no topic ${name}`);
    const cursors: Offset[] = Array.from({ length: topic.partitionCount }, () => BEFORE_FIRST);
    while (!ending.signal.aborted) {
      const position = { topic, cursors: [...cursors] };
      await follow({
        cluster,
        position,
        signal: ending.signal,
        visit(record, partition) {
          visit(name, record, partition);
          cursors[partition] = record.offset;
        },
      }).catch((error: unknown) => {
        if (!(error instanceof TidemarkError) || error.class !== ErrorClass.unavailable) throw error;
      });
      await delay(AGAIN_AFTER_MS);
    }
  });
  const failed = Promise.all(followed).then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  return {
    count: (topic, family) => counts.get(`${topic}/${family}`) ?? 0,
    ids,
    longestStallMs: () => Math.round(stallMs),
    calm() {
      if (!isCalm && newestAtMs !== undefined) stallMs = Math.max(stallMs, performance.now() - newestAtMs);
      isCalm = true;
    },
    failed,
    async stop() {
      ending.abort();
      await Promise.allSettled(followed);
    },
  };
}
