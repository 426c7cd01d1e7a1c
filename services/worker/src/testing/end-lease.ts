/** For tests that kill the owner of a range, with leases too long to be lost by a machine that has no time for a living one. */
import type { CursorStore } from '@tidemark/cursors';
import { waitFor } from '@tidemark/testkit/wait-for';
import type { InstalledJob } from './install-job.ts';

let calls = 0n;

/** Lets the lease of the job's first range run out now, whoever has it. */
export async function endLease(store: CursorStore, { jobId, ranges }: InstalledJob): Promise<void> {
  await waitFor('the lease of the dead one to end', async () => {
    const [range] = await ranges();
    if (range === undefined) return false;
    if (range.owner === '') return true;
    const call = { slot: `test-${process.pid}`, sequence: ++calls };
    const answer = await store.renew({ call, jobId, range, token: range.token, leaseTtlMs: 1, note: '' });
    return answer.kind === 'renewed';
  });
}
