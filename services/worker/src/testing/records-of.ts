/** What stands in a partition, the first thousand records of it. For tests. */
import { cursorBefore } from '@tidemark/keyspace';
import type { LogCluster, LogRecord } from '@tidemark/log';

export async function recordsOf(
  cluster: Pick<LogCluster, 'catalog' | 'openReader'>,
  topic: string,
  partition = 0,
): Promise<readonly LogRecord[]> {
  const description = await cluster.catalog.describe(topic);
  if (description === undefined) return [];
  const offsets = (await cluster.catalog.offsets(description))[partition];
  if (offsets === undefined || offsets.highWatermark === offsets.logStartOffset) return [];
  const reader = cluster.openReader();
  const answer = await reader.read({
    source: { topic, topicId: description.topicId, partition },
    cursor: cursorBefore(offsets.logStartOffset),
    end: cursorBefore(offsets.highWatermark),
    recordsMax: 1_000,
    bytesMax: 8_000_000,
    waitMs: 1_000,
  });
  await reader.close();
  if (answer.kind !== 'chunk') throw new Error(`no chunk of ${topic}: ${answer.kind}`);
  return answer.chunk.records;
}
