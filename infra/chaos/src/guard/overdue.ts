/**
 * A job that holds its log for longer than it may, once where its floor is released then and once where it is kept, when
 * nothing else breaks: the one loses exactly what went, the other nothing.
 */
import type { JobState } from '@tidemark/contracts';
import { waitFor } from '@tidemark/testkit';
import { underWay } from '../traversal/faults/jobs.ts';
import { CUT_CHUNK_BYTES, RECOVERY_MAX_MS } from '../traversal/limits.ts';
import { checked, type Truncation } from './foreign.ts';
import { HELD_RATE, HELD_RECORDS, HOLD_TOLD_MAX_MS } from './limits.ts';
import { tidemark } from './programs.ts';
import { lowWatermarks } from './sampler.ts';
import type { GuardScene } from './scene.ts';

interface Held {
  readonly jobId: string;
  readonly topic: string;
  readonly first: bigint;
}

const PARTITION = 0;
const WAIT = { timeoutMs: HOLD_TOLD_MAX_MS };

export async function holdTooLong(scene: GuardScene): Promise<Truncation> {
  const { releasedTopic, keptTopic, progress } = scene;
  const [released, kept] = await Promise.all([holding(scene, releasedTopic), holding(scene, keptTopic)]);
  // A guard that does not say so has broken its word, and the rest of the run is judged all the same.
  const complain = (error: unknown): undefined => void scene.notes.complaints.push(String(error));
  await said(scene, 'retention.held_too_long', kept).catch(complain);
  await said(scene, 'retention.floor_released', released).catch(complain);
  const cut = waitFor('the cut under the job that was released', () => cutUnder(scene, released), WAIT);
  const before = (await cut.catch(complain)) ?? released.first;
  progress(`${released.jobId} was released, the log under it begins at ${before}; ${kept.jobId} holds on`);
  const [state] = await Promise.all([resumed(scene, released), resumed(scene, kept)]);
  const truncated = { jobId: released.jobId, partition: PARTITION, first: released.first, before, state };
  return await checked(scene, truncated, { onLost: 'stop', end: 'UNRECOVERABLE' });
}

/** Asked for, on its way, and paused by an operator who then forgets it. */
async function holding(scene: GuardScene, topic: string): Promise<Held> {
  const { first, last } = await scene.streams.appendLarge(topic, PARTITION, HELD_RECORDS);
  const { jobId } = await scene.desk.ask({
    topic,
    ordering: 'partition',
    mode: undefined,
    isExact: true,
    windows: [{ partition: PARTITION, first, last }],
    request: { onLost: 'stop', chunkBytes: CUT_CHUNK_BYTES, rate: HELD_RATE },
  });
  await underWay(scene, jobId);
  await order(scene, 'pause', jobId);
  return { jobId, topic, first };
}

async function resumed(scene: GuardScene, { jobId }: Held): Promise<JobState | undefined> {
  await order(scene, 'resume', jobId);
  return await scene.desk.ended(jobId, RECOVERY_MAX_MS).catch((error: unknown) => {
    scene.notes.complaints.push(String(error));
    return undefined;
  });
}

async function order({ env, notes }: GuardScene, command: 'pause' | 'resume', jobId: string): Promise<void> {
  const answer = await tidemark(env, 'job', command, jobId, '--reason', 'a job that nobody thinks of');
  if (answer.code !== 0) notes.complaints.push(`${command} of ${jobId} ended with ${answer.code}: ${answer.notes}`);
}

/** By either guard. */
async function said({ fleet }: GuardScene, event: string, { jobId, topic }: Held): Promise<void> {
  const isSaid = (): boolean =>
    fleet.all
      .filter(({ role }) => role === 'guard')
      .some(({ program }) =>
        program.lines.some((line) => [`"${event}"`, `"${topic}"`, `"${jobId}"`].every((word) => line.includes(word))),
      );
  await waitFor(`${event} of ${jobId}`, isSaid, WAIT);
}

/** Where the log begins, once that is above what the job has had: the policy goes by size, and nothing is added. */
async function cutUnder({ kafka, pool }: GuardScene, { jobId, topic }: Held): Promise<bigint | undefined> {
  const [bounds] = await lowWatermarks({ kafka, topics: [topic] });
  const { rows } = await pool.query<{ next: string | null }>(
    'select (max(record_offset) + 1)::text as next from effects where job_id = $1',
    [jobId],
  );
  const low = bounds?.low ?? 0n;
  return low > BigInt(rows[0]?.next ?? '0') ? low : undefined;
}
