/** The newest state of every job, read on from where the last look ended. */
import type { JobState } from '@tidemark/contracts';
import { readWindow } from '@tidemark/control';
import { jobTopics } from '@tidemark/jobs';
import { takeState } from '@tidemark/jobs/kafka';
import { cursorBefore, type Offset, offsetMax } from '@tidemark/keyspace';
import type { PartitionOffsets, TopicDescription } from '@tidemark/log';
import type { ConsoleParts } from './parts.ts';

export type JobStates = ReadonlyMap<string, JobState>;

/** Each call of the answer is one look; not to be called while one is under way. */
export function createJobStates(
  parts: Pick<ConsoleParts, 'cluster' | 'codec' | 'namespace'>,
): () => Promise<JobStates> {
  const { catalog } = parts.cluster;
  const name = jobTopics(parts.namespace).jobState;
  const states = new Map<string, JobState>();
  const cursors = new Map<number, Offset>();
  let topicId: string | undefined;

  function forget(): void {
    states.clear();
    cursors.clear();
    topicId = undefined;
  }

  async function readOn(topic: TopicDescription, offsets: readonly PartitionOffsets[]): Promise<void> {
    for (const { partition, logStartOffset, lastStableOffset } of offsets) {
      const start = offsetMax(cursors.get(partition) ?? cursorBefore(logStartOffset), cursorBefore(logStartOffset));
      const end = cursorBefore(lastStableOffset);
      for await (const item of readWindow(parts.cluster, topic, [{ partition, start, end }])) {
        if (item.kind === 'cut short') throw new Error(`topic ${name} cannot be read on: ${item.reason}`);
        await takeState(states, parts.codec, item.record);
        cursors.set(partition, item.record.offset);
      }
      cursors.set(partition, offsetMax(start, end));
    }
  }

  return async () => {
    const topic = await catalog.describe(name);
    if (topic?.topicId !== topicId) forget();
    if (topic === undefined) return new Map();
    topicId = topic.topicId;
    try {
      await readOn(topic, await catalog.offsets(topic));
    } catch (error) {
      // What was missed is not known, so the next look begins anew.
      forget();
      throw error;
    }
    return new Map(states);
  };
}
