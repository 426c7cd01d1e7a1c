/** The newest state of every job and series, read on from where the last look ended. */
import type { JobState, SeriesState } from '@tidemark/contracts';
import { readWindow } from '@tidemark/control';
import { jobTopics } from '@tidemark/jobs';
import { takeEither } from '@tidemark/jobs/kafka';
import { cursorBefore, type Offset, offsetMax } from '@tidemark/keyspace';
import type { PartitionOffsets, TopicDescription } from '@tidemark/log';
import { READ_ANEW_AFTER_MS } from '../limits.ts';
import type { ConsoleParts } from './parts.ts';

export type JobStates = ReadonlyMap<string, JobState>;
/** By name. */
export type SeriesStates = ReadonlyMap<string, SeriesState>;

/** Both lie in one topic, so that one look sees both. */
export interface DurableStates {
  readonly jobs: JobStates;
  readonly series: SeriesStates;
}

/** Each call of the answer is one look; not to be called while one is under way. */
export function createJobStates(
  parts: Pick<ConsoleParts, 'cluster' | 'codec' | 'namespace'>,
  now: () => number = Date.now,
): () => Promise<DurableStates> {
  const { catalog } = parts.cluster;
  const name = jobTopics(parts.namespace).jobState;
  const jobs = new Map<string, JobState>();
  const series = new Map<string, SeriesState>();
  const cursors = new Map<number, Offset>();
  let topicId: string | undefined;
  let lookedAtMs = now();

  function forget(): void {
    jobs.clear();
    series.clear();
    cursors.clear();
    topicId = undefined;
  }

  async function readOn(topic: TopicDescription, offsets: readonly PartitionOffsets[]): Promise<void> {
    for (const { partition, logStartOffset, lastStableOffset } of offsets) {
      const start = offsetMax(cursors.get(partition) ?? cursorBefore(logStartOffset), cursorBefore(logStartOffset));
      const end = cursorBefore(lastStableOffset);
      for await (const item of readWindow(parts.cluster, topic, [{ partition, start, end }])) {
        if (item.kind === 'cut short') throw new Error(`topic ${name} cannot be read on: ${item.reason}`);
        await takeEither({ states: jobs, series }, parts.codec, item.record);
        cursors.set(partition, item.record.offset);
      }
      cursors.set(partition, offsetMax(start, end));
    }
  }

  return async () => {
    const topic = await catalog.describe(name);
    if (topic?.topicId !== topicId || now() - lookedAtMs >= READ_ANEW_AFTER_MS) forget();
    if (topic === undefined) return { jobs: new Map(), series: new Map() };
    topicId = topic.topicId;
    const beganAtMs = now();
    try {
      await readOn(topic, await catalog.offsets(topic));
    } catch (error) {
      // What was missed is not known, so the next look begins anew.
      forget();
      throw error;
    }
    lookedAtMs = beganAtMs;
    return { jobs: new Map(jobs), series: new Map(series) };
  };
}
