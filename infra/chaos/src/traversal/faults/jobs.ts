/** What happens to single jobs and to the topics under them. */
import { setTimeout as delay } from 'node:timers/promises';
import type { JobRequested, JobState } from '@tidemark/contracts';
import { deleteRecordsBefore, waitFor } from '@tidemark/testkit';
import type { Chance } from '@tidemark/testkit/chance';
import type { AskedWindow } from '../job-desk.ts';
import {
  CUT_AFTER_RECORDS,
  CUT_AT_PART,
  CUT_CHUNK_BYTES,
  CUT_PARTITIONS,
  CUT_RECORDS,
  FAILING_ATTEMPTS,
  HANGING_ATTEMPTS,
  MISBEHAVED_RECORDS,
  RECOVERY_MAX_MS,
  SLOW_RECORDS,
} from '../limits.ts';
import { Mode } from '../misbehaviour.ts';
import type { Inject, Scene } from '../scene.ts';

export const slowHandler: Inject = (scene, chance) =>
  misbehave(scene, chance, { mode: Mode.slow, records: SLOW_RECORDS, request: { handler: 'chaos-slow' } });

export const failingHandler: Inject = (scene, chance) =>
  misbehave(scene, chance, {
    mode: Mode.failing,
    records: MISBEHAVED_RECORDS,
    request: { handler: 'chaos-failing', attempts: FAILING_ATTEMPTS },
  });

export const hangingHandler: Inject = (scene, chance) =>
  misbehave(scene, chance, {
    mode: Mode.hanging,
    records: MISBEHAVED_RECORDS,
    request: { handler: 'chaos-hanging', attempts: HANGING_ATTEMPTS },
  });

async function misbehave(
  scene: Scene,
  chance: Chance,
  what: { readonly mode: Mode; readonly records: number; readonly request: Partial<JobRequested> },
): Promise<void> {
  const { mode, request } = what;
  const ordering = chance.pick(['none', 'key', 'key', 'partition']);
  const { topic, windows } = recentWindows(scene, chance, what.records);
  const { jobId } = await scene.desk.ask({ topic, ordering, mode, isExact: true, windows, request });
  scene.progress(`${jobId} has a ${mode} handler (ordering ${ordering})`);
}

/** The newest records of one of the topics that are filled, so many in each of its partitions. */
export function recentWindows({ streams, filledTopics }: Scene, chance: Chance, records: number) {
  const topic = chance.pick(filledTopics);
  const windows = [...streams.acknowledged(topic)]
    .filter(([, end]) => end > 0n)
    .map(([partition, end]): AskedWindow => {
      const first = end - BigInt(records);
      return { partition, first: first > 0n ? first : 0n, last: end - 1n };
    });
  return { topic, windows };
}

/** A partition more, filled at once, and a job that goes on after one that did not know of it. */
export const addPartition: Inject = async (scene, chance) => {
  const { streams, desk } = scene;
  const topic = chance.pick(scene.filledTopics);
  const known = new Set(streams.acknowledged(topic).keys());
  const partition = await streams.addPartition(topic);
  await waitFor(`records in ${topic}/${partition}`, () => (streams.acknowledged(topic).get(partition) ?? 0n) > 0n);
  const former = await waitFor(
    'a job that covered all partitions there were',
    () => lastCovering(scene, topic, known),
    {
      timeoutMs: RECOVERY_MAX_MS,
      intervalMs: 200,
    },
  );
  const firsts = new Map(former.pin?.partitions.map((window) => [window.partition, window.end + 1n]));
  const windows = [...streams.acknowledged(topic)].map(([place, end]) => {
    const first = firsts.get(place) ?? 0n;
    return { partition: place, first, last: end > first ? end - 1n : first - 1n };
  });
  const request = { from: `after:${former.jobId}`, to: 'now' };
  const { jobId } = await desk.ask({ topic, ordering: 'key', mode: undefined, isExact: false, windows, request });
  scene.progress(`${topic} has ${partition + 1} partitions, ${jobId} goes on after ${former.jobId}`);
};

function lastCovering({ desk }: Scene, topic: string, partitions: ReadonlySet<number>): JobState | undefined {
  for (const asked of desk.asked.toReversed()) {
    const state = desk.state(asked.jobId);
    const covered = new Set(state?.pin?.partitions.map(({ partition }) => partition));
    if (
      asked.topic === topic &&
      state?.state === 'COMPLETED' &&
      [...partitions].every((partition) => covered.has(partition))
    )
      return state;
  }
  return undefined;
}

/** A stranger removes records that a job still needs, and the job has said that it may go on without them. */
export const deleteRecords: Inject = async (scene, chance) => {
  const partition = chance.between(0, CUT_PARTITIONS - 1);
  await truncateUnder(scene, chance, { partition, onLost: 'skip', until: (jobId) => underWay(scene, jobId) });
};

export function underWay(scene: Scene, jobId: string): Promise<unknown> {
  const hasBegun = async (): Promise<boolean> => (await deliveredOf(scene, jobId)) >= CUT_AFTER_RECORDS;
  return waitFor(`${jobId} to be under way`, hasBegun, { timeoutMs: RECOVERY_MAX_MS });
}

interface Truncated {
  readonly jobId: string;
  readonly partition: number;
  readonly first: bigint;
  /** Everything before it is gone. */
  readonly before: bigint;
  /** Of the job, at its end; undefined when it did not end. */
  readonly state: JobState | undefined;
}

/** Nothing else may happen before the job has ended: what a crash makes read again would count as lost, too. */
export async function truncateUnder(
  scene: Scene,
  chance: Chance,
  options: {
    readonly partition: number;
    readonly onLost: 'skip' | 'stop';
    /** Resolves when the records are to be deleted under the job. */
    readonly until: (jobId: string) => Promise<unknown>;
  },
): Promise<Truncated> {
  const { partition, onLost } = options;
  const { streams, desk, pool, cutTopic, notes } = scene;
  const part = CUT_AT_PART.min + chance.next() * (CUT_AT_PART.max - CUT_AT_PART.min);
  const { first, last } = await streams.appendLarge(cutTopic, partition, CUT_RECORDS);
  const { jobId } = await desk.ask({
    topic: cutTopic,
    ordering: chance.pick(['none', 'key', 'partition']),
    mode: undefined,
    isExact: true,
    windows: [{ partition, first, last }],
    request: { onLost, chunkBytes: CUT_CHUNK_BYTES },
  });
  await options.until(jobId);
  const before = first + BigInt(Math.floor(CUT_RECORDS * part));
  await deleteRecordsBefore(cutTopic, partition, before, { kafka: scene.kafka });
  await pool.query('insert into cuts values ($1, $2, $3)', [cutTopic, partition, before]);
  const state = await desk.ended(jobId, RECOVERY_MAX_MS).catch((error: unknown) => {
    notes.complaints.push(String(error));
    return undefined;
  });
  await delay(100);
  scene.progress(`records of ${jobId} were deleted before ${before} of ${first} to ${last}`);
  return { jobId, partition, first, before, state };
}

async function deliveredOf({ pool }: Scene, jobId: string): Promise<number> {
  const { rows } = await pool.query<{ n: number }>('select count(*)::int as n from effects where job_id = $1', [jobId]);
  return rows[0]?.n ?? 0;
}
