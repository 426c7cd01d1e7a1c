/** A consumer group of somebody else, which commits now and then what it has seen. */
import { kafkaClient } from '@tidemark/testkit';
import { GROUP, GROUP_COMMIT_EVERY_MS, GROUP_METADATA_MS } from './limits.ts';

export interface Group {
  /** From now on nothing is committed. */
  stop(): Promise<void>;
}

export async function startGroup(kafka: string, topic: string): Promise<Group> {
  const consumer = kafkaClient({ kafka }).consumer({ groupId: GROUP, metadataMaxAge: GROUP_METADATA_MS });
  const positions = new Map<number, bigint>();
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => void positions.set(batch.partition, BigInt(batch.lastOffset()) + 1n),
  });
  const commit = async (): Promise<void> => {
    const offsets = [...positions].map(([partition, offset]) => ({ topic, partition, offset: offset.toString() }));
    // While the broker is away, or the group is being shared out anew, there is a next time.
    if (offsets.length > 0) await consumer.commitOffsets(offsets).catch(() => undefined);
  };
  let last: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    last = last.then(commit);
  }, GROUP_COMMIT_EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      await last;
      await consumer.disconnect().catch(() => undefined);
    },
  };
}
