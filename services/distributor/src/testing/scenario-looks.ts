/** What several groups of scenarios look at. */
import { readRecord, SchemaName } from '@tidemark/contracts';
import type { RangeState } from '@tidemark/cursors';
import { jobTopics } from '@tidemark/jobs';
import { waitFor } from '@tidemark/testkit';
import type { Rig } from './rig.ts';

/** The rig of the test that runs now. */
export type RigOf = () => Rig;

export const numbers = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => String(index));

export async function firstRange(rig: Rig, jobId: string): Promise<RangeState> {
  const [range] = await rig.ranges(jobId);
  return range ?? raise(`job ${jobId} has no range`);
}

export async function enlisted(rig: Rig): Promise<readonly string[]> {
  return (await rig.parts.schedule.propose({ limit: 100 })).jobs.map(({ jobId }) => jobId);
}

/** The keys go after the end is durable. */
export async function gone(rig: Rig, jobId: string): Promise<void> {
  await waitFor(`${jobId} to be gone`, async () => {
    return (await rig.parts.store.snapshot(jobId)) === undefined && !(await enlisted(rig)).includes(jobId);
  });
}

/** Waits until the checkpoints topic holds a cursor of the job. */
export async function checkpointed(rig: Rig, jobId: string, cursor: bigint): Promise<void> {
  await waitFor(`a checkpoint of ${jobId} at ${cursor}`, async () => {
    let found = false;
    await rig.scan(jobTopics(rig.parts.namespace).checkpoints, async ({ value }) => {
      const decoded = value === null ? undefined : await rig.parts.codec.decode(value);
      if (decoded?.schema !== SchemaName.rangeCheckpoint) return;
      const checkpoint = readRecord(decoded, SchemaName.rangeCheckpoint);
      found ||= checkpoint.jobId === jobId && checkpoint.cursor === cursor;
    });
    return found;
  });
}

export function raise(message: string): never {
  throw new Error(message);
}
