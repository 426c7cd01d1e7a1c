/** Bounded reading of a topic for people and for checks: no group, no position kept, nothing changed. */
import { isEmpty, type Offset, type PartitionWindow } from '@tidemark/keyspace';
import { describeReadRefusal, type LogCluster, type LogRecord, type TopicDescription } from '@tidemark/log';
import { READ_CHUNK_BYTES, READ_CHUNK_RECORDS, READ_WAIT_MS } from './limits.ts';

export type ReadItem =
  | { readonly kind: 'record'; readonly partition: number; readonly record: LogRecord }
  /** The rest of this partition's window cannot be read now (open transaction) or ever (lost). */
  | { readonly kind: 'cut short'; readonly partition: number; readonly at: Offset; readonly reason: string };

/** Partition by partition, in offset order. Ends when every window is read or cut short. */
export async function* readWindow(
  cluster: Pick<LogCluster, 'openReader'>,
  topic: TopicDescription,
  windows: readonly PartitionWindow[],
  options: { readonly signal?: AbortSignal } = {},
): AsyncGenerator<ReadItem, void, undefined> {
  const reader = cluster.openReader();
  try {
    for (const window of windows) {
      if (isEmpty(window)) continue;
      const { partition, end } = window;
      const source = { topic: topic.topic, topicId: topic.topicId, partition };
      let cursor = window.start;
      while (cursor < end) {
        const answer = await reader.read({
          source,
          cursor,
          end,
          recordsMax: READ_CHUNK_RECORDS,
          bytesMax: READ_CHUNK_BYTES,
          waitMs: READ_WAIT_MS,
          ...(options.signal === undefined ? {} : { signal: options.signal }),
        });
        if (answer.kind !== 'chunk') {
          yield { kind: 'cut short', partition, at: cursor, reason: describeReadRefusal(answer) };
          break;
        }
        for (const record of answer.chunk.records) yield { kind: 'record', partition, record };
        cursor = answer.chunk.end;
      }
    }
  } finally {
    await reader.close();
  }
}
