/** Wrong relays. The checker is worth what it finds of them. */
import { jobTopics } from '@tidemark/jobs';
import type { LogCluster, OutgoingRecord } from '@tidemark/log';
import { type Outbox, positionTopicOf } from '@tidemark/outbox';
import { withCommit } from '../harness.ts';

export interface RelayPlant {
  cluster?(cluster: LogCluster, namespace: string): LogCluster;
  outbox?(outbox: Outbox): Outbox;
  /** Where nobody fences, a killed relay would leave its transaction open to its time-out. */
  readonly neverKilled?: true;
}

export const RELAY_PLANTS = {
  /** Whoever dies between the two has passed rows that nobody sends any more. */
  'the position committed before its events': {
    cluster: (cluster, namespace) => inTwo(cluster, namespace, (position, events) => [position, events]),
  },

  /** Whoever dies between the two has sent rows that the next one sends again. */
  'the position committed after its events': {
    cluster: (cluster, namespace) => inTwo(cluster, namespace, (position, events) => [events, position]),
  },

  /** Whoever sees the request would miss rows that were committed before it. */
  'a request ahead of its batch': {
    cluster: (cluster, namespace) =>
      withCommit(cluster, async (records, writer) => {
        const isRequest = ({ topic }: OutgoingRecord): boolean => topic === jobTopics(namespace).jobs;
        for (const isAhead of [true, false])
          await writer.commit(records.filter((record) => isRequest(record) === isAhead));
      }),
  },

  /** An older session goes on beside the newer one. */
  'no fence': {
    cluster: (cluster) => ({
      ...cluster,
      openTransactionalWriter: ({ transactionalId }) =>
        cluster.openTransactionalWriter({ transactionalId: `${transactionalId}.${Math.random()}` }),
    }),
    neverKilled: true,
  },

  /** What the older session commits between the two is sent again. */
  'the position read before the fence': {
    cluster: (cluster) => ({
      ...cluster,
      async openTransactionalWriter(options) {
        let opened: ReturnType<LogCluster['openTransactionalWriter']> | undefined;
        return {
          usable: true,
          async commit(records) {
            opened ??= cluster.openTransactionalWriter(options);
            await (await opened).commit(records);
          },
          async close() {
            await (await opened)?.close();
          },
        };
      },
    }),
  },

  /** Rows of a parked key are passed, and gone when their time comes. */
  'clean-up of rows that wait': {
    outbox: (outbox) => ({
      ...outbox,
      reader: { ...outbox.reader, cleanup: (published) => outbox.reader.cleanup(published) },
    }),
  },
} as const satisfies Readonly<Record<string, RelayPlant>>;

type Records = readonly OutgoingRecord[];

function inTwo(
  cluster: LogCluster,
  namespace: string,
  order: (position: Records, events: Records) => readonly Records[],
): LogCluster {
  const isPosition = ({ topic }: OutgoingRecord): boolean => topic === positionTopicOf(namespace);
  return withCommit(cluster, async (records, writer) => {
    const [position, events] = [records.filter(isPosition), records.filter((record) => !isPosition(record))];
    for (const part of order(position, events)) await writer.commit(part);
  });
}
