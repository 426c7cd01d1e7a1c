/** Dead letters as a worker writes them, on the in-memory log. For tests. */
import { deadLetterHeaders, deadLetterTopic } from '@tidemark/jobs';
import type { TopicDescription } from '@tidemark/log';
import type { MemoryCluster } from '@tidemark/log/testing';

export interface LetterFields {
  /** Of the record. */
  readonly offset: number;
  readonly key?: string | null;
  readonly value?: string | null;
  readonly partition?: number;
  readonly job?: string;
  readonly faultClass?: string;
  readonly round?: number;
  readonly edit?: number;
  readonly topicId?: string;
  readonly form?: string;
}

/** Letters of topic `t`, in this order from offset 0 on. */
export async function writeLetters(
  cluster: MemoryCluster,
  letters: readonly LetterFields[],
): Promise<TopicDescription> {
  const topic = deadLetterTopic('t');
  const description = (await cluster.catalog.describe(topic)) ?? cluster.createTopic(topic, { partitionCount: 2 });
  const writer = await cluster.openWriter();
  await writer.append(
    letters.map((letter) => {
      const { offset, key = 'k', value = `v${offset}`, partition = 0 } = letter;
      const bytes = { key: key === null ? null : Buffer.from(key), value: value === null ? null : Buffer.from(value) };
      return { topic, partition, ...bytes, headers: headersOf(letter) };
    }),
  );
  await writer.close();
  return description;
}

function headersOf({ offset, partition = 0, ...letter }: LetterFields) {
  const { job = 'job-1', faultClass = 'data', round = 1, edit = 0, topicId, form = 'record' } = letter;
  return deadLetterHeaders({
    headers: [['own', Buffer.from('kept')]],
    origin: { topic: 't', partition, offset: BigInt(offset) },
    fields: {
      job,
      handler: 'h',
      class: faultClass,
      round: String(round),
      form,
      ...(edit === 0 ? {} : { edit: String(edit) }),
      ...(topicId === undefined ? {} : { topic_id: topicId }),
    },
    error: 'bad',
  });
}
