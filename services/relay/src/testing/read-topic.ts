/** What a topic holds, with the outbox position of each record. */
import { headerText, type LogCluster, type LogRecord, scanTopic } from '@tidemark/log';

export interface SentRecord extends LogRecord {
  readonly partition: number;
  /** Of the row in the outbox; -1 for a record that is not of the relay. */
  readonly position: bigint;
}

export async function readAll(cluster: LogCluster, name: string): Promise<readonly SentRecord[]> {
  const topic = await cluster.catalog.describe(name);
  if (topic === undefined) throw new Error(`no topic ${name}`);
  const sent: SentRecord[] = [];
  await scanTopic({
    cluster,
    topic,
    visit(record, partition) {
      sent.push({ ...record, partition, position: BigInt(headerText(record, 'tm_position') ?? '-1') });
    },
  });
  return sent;
}
