/** Compares what the reader delivers with what Apache's own console consumer prints, byte by byte. */
import { consoleConsumer, produce, services, uniqueName } from '@tidemark/testkit';
import { createKafkaCluster } from '../adapters/kafka/cluster.ts';
import type { PartitionOffsets } from '../ports.ts';
import { type ReadAllResult, readAll, WRITTEN_WAIT_MS } from './read-all.ts';

export interface ComparableRecord {
  readonly offset: bigint;
  readonly timestampMs: bigint;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
}

export interface Judged {
  readonly ours: readonly ComparableRecord[];
  readonly judges: readonly ComparableRecord[];
  readonly reading: ReadAllResult;
  readonly log: PartitionOffsets;
}

export interface JudgeOptions {
  readonly partition?: number;
  readonly recordsMax?: number;
  readonly bytesMax?: number;
  readonly kafka?: string;
}

/** A cleaner that is still at work changes the log under the comparison, a few times at most. */
const ATTEMPTS_MAX = 10;

/**
 * Reads to the high watermark, then appends one record and lets the judge print as many records as we have with it. That
 * is exact and quick: had the judge one more before the last, it would not come to the last; had it one less, it would wait
 * in vain and print less. The last record is left out of both answers. Compaction may go on meanwhile, so the reading is
 * repeated at the end, and all of it is done again if it differs.
 */
export async function judge(topic: string, options: JudgeOptions = {}): Promise<Judged> {
  const { partition = 0, kafka, ...limits } = options;
  const onBroker = kafka === undefined ? {} : { kafka };
  const cluster = createKafkaCluster({ brokers: [kafka ?? services().kafka], clientId: uniqueName('judge') });
  try {
    const description = await cluster.catalog.describe(topic);
    if (description === undefined) throw new Error(`there is no topic ${topic}`);
    const source = { topic, topicId: description.topicId, partition };
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const log = (await cluster.catalog.offsets(description))[partition];
      if (log === undefined) throw new Error(`there is no ${topic}/${partition}`);
      const window = {
        source,
        cursor: log.logStartOffset - 1n,
        end: log.highWatermark - 1n,
        ...limits,
        waitMs: WRITTEN_WAIT_MS,
      };
      const reading = await readAll({ reader: cluster.openReader(), ...window });
      const last = await produce(topic, [{ key: 'judge', value: 'last' }], { partition, ...onBroker });
      const maxMessages = reading.records.length + 1;
      const judges = await consoleConsumer({ topic, partition, maxMessages, ...onBroker });
      const again = await readAll({ reader: cluster.openReader(), ...window });
      if (again.offsets.join() !== reading.offsets.join()) continue;
      if (judges.at(-1)?.offset !== last) throw new Error(`the judge ends at ${judges.at(-1)?.offset}, not at ${last}`);
      const ours = reading.records.map(({ offset, timestampMs, key, value }) => ({ offset, timestampMs, key, value }));
      return { ours, judges: judges.slice(0, -1), reading, log };
    }
    throw new Error(`${topic}/${partition} did not keep still in ${ATTEMPTS_MAX} attempts`);
  } finally {
    await cluster.close();
  }
}
