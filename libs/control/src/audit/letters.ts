/** The dead letters of one job, told apart by the record that they are of. */
import { deadLetterFacts, deadLetterTopic, isDeadLetterTopic } from '@tidemark/jobs';
import { isTopicName, type RangeRef } from '@tidemark/keyspace';
import { type LogCluster, scanTopic } from '@tidemark/log';
import type { LetterCount } from './prove-range.ts';

export interface Letters {
  has(partition: number, offset: bigint): boolean;
  in(range: Pick<RangeRef, 'partition' | 'start'> & { readonly cursor: bigint }): LetterCount;
}

/** Held in memory: a job has a cap on its dead letters. */
export async function readLetters(
  cluster: Pick<LogCluster, 'catalog' | 'openReader'>,
  job: { readonly jobId: string; readonly topic: string },
  signal?: AbortSignal,
): Promise<Letters> {
  const byPartition = new Map<number, Set<bigint>>();
  // A job over dead letters leaves what it gives up on beside them.
  const names = [deadLetterTopic(job.topic), ...(isDeadLetterTopic(job.topic) ? [job.topic] : [])];
  const found = (await Promise.all(names.filter(isTopicName).map((name) => cluster.catalog.describe(name)))).filter(
    (topic) => topic !== undefined,
  );
  let gap = found.length === 0 ? `topic ${names[0]} does not exist` : undefined;
  for (const topic of found) {
    const wasCut = (): void => {
      gap = `topic ${topic.topic} was cut`;
    };
    const offsets = await cluster.catalog.offsets(topic);
    if (offsets.some(({ logStartOffset }) => logStartOffset > 0n)) wasCut();
    await scanTopic({
      cluster,
      topic,
      ...(signal === undefined ? {} : { signal }),
      onGone: wasCut,
      visit(record) {
        const letter = deadLetterFacts(record.headers);
        if (letter?.jobId !== job.jobId) return;
        const { partition, offset } = letter.source;
        byPartition.set(partition, (byPartition.get(partition) ?? new Set()).add(offset));
      },
    });
  }
  return {
    has: (partition, offset) => byPartition.get(partition)?.has(offset) === true,
    in: ({ partition, start, cursor }) => ({
      records: BigInt(
        [...(byPartition.get(partition) ?? [])].filter((offset) => offset > start && offset <= cursor).length,
      ),
      gap,
    }),
  };
}
