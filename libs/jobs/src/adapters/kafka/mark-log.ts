/** The marks topic: compacted, one key a partition, one fenced writer at a time. Beside the marks, what guards saw and think. */
import {
  type Codec,
  type GuardView,
  type LogWatch,
  SchemaName,
  type StoreEpoch,
  type TruncationMark,
} from '@tidemark/contracts';
import { type LogCluster, scanTopic } from '@tidemark/log';
import { markKey } from '../../marks.ts';
import type { MarkLog, MarkSession } from '../../ports.ts';
import { jobTopicSpecs, jobTopics } from '../../topics.ts';
import { ownTopicBroken } from './own-topic.ts';
import { decodeStored, recordIf } from './stored-records.ts';

export interface MarkLogOptions {
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly namespace: string;
}

/** The cluster and the codec stay the caller's. */
export function createMarkLog({ cluster, codec, namespace }: MarkLogOptions): MarkLog {
  const topic = jobTopics(namespace).marks;
  return {
    async ensure(replicationFactor) {
      await cluster.catalog.ensure(jobTopicSpecs(namespace, replicationFactor).marks);
    },

    async load(options = {}) {
      const described = await cluster.catalog.describe(topic);
      if (described === undefined) throw ownTopicBroken(topic, 'it does not exist');
      const marks = new Map<string, TruncationMark>();
      const watches = new Map<string, LogWatch>();
      const views = new Map<string, GuardView>();
      let store: StoreEpoch | undefined;
      await scanTopic({
        cluster,
        ...options,
        topic: described,
        visit: async ({ value }) => {
          if (value === null) return;
          const decoded = await decodeStored(codec, value);
          store = recordIf(decoded, SchemaName.storeEpoch) ?? store;
          const watch = recordIf(decoded, SchemaName.logWatch);
          if (watch !== undefined) watches.set(markKey(watch), watch);
          const view = recordIf(decoded, SchemaName.guardView);
          if (view !== undefined) views.set(view.topic, view);
          const mark = recordIf(decoded, SchemaName.truncationMark);
          if (mark === undefined) return;
          const key = markKey(mark);
          if (mark.offset > (marks.get(key)?.offset ?? -1n)) marks.set(key, mark);
        },
      });
      return { marks, store, watches, views };
    },

    async openSession(): Promise<MarkSession> {
      const writer = await cluster.openTransactionalWriter({
        transactionalId: `${namespace}.guard`,
      });
      return {
        async write(marks) {
          const records = [];
          for (const mark of marks) {
            const value = await codec.encode(SchemaName.truncationMark, mark);
            records.push({ topic, key: Buffer.from(`${mark.topic}/${mark.partition}`), value });
          }
          await writer.commit(records);
        },
        async watch(watches) {
          const records = [];
          for (const watch of watches) {
            const value = await codec.encode(SchemaName.logWatch, watch);
            records.push({ topic, key: Buffer.from(`watch/${watch.topic}/${watch.partition}`), value });
          }
          await writer.commit(records);
        },
        close: () => writer.close(),
      };
    },

    async tell(views) {
      const writer = await cluster.openWriter();
      try {
        const records = [];
        for (const view of views) {
          const value = await codec.encode(SchemaName.guardView, view);
          records.push({ topic, partition: 0, key: Buffer.from(`view/${view.topic}`), value });
        }
        await writer.append(records);
      } finally {
        await writer.close();
      }
    },
  };
}
