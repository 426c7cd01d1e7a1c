/** A stranger deletes records under a job that stops at a loss and under one that goes on, once each, when nothing else breaks. */
import type { LostOffsets } from '@tidemark/contracts';
import { waitFor } from '@tidemark/testkit';
import type { Chance } from '@tidemark/testkit/chance';
import { truncateUnder, underWay } from '../traversal/faults/jobs.ts';
import { RECOVERY_MAX_MS } from '../traversal/limits.ts';
import { intervalsText, undelivered } from './audit.ts';
import { tidemark } from './programs.ts';
import type { GuardScene } from './scene.ts';

interface Truncation {
  readonly jobId: string;
  /** What the job says is lost. */
  readonly lost: string;
}

/** In the middle of what the job does: it must name exactly what it had not delivered. */
export async function truncateUnderStopping(scene: GuardScene, chance: Chance): Promise<Truncation> {
  const until = (jobId: string): Promise<unknown> => underWay(scene, jobId);
  const truncated = await truncateUnder(scene, chance, { partition: 1, onLost: 'stop', until });
  return checked(scene, truncated, { onLost: 'stop', end: 'UNRECOVERABLE', lost: truncated.state?.lost ?? [] });
}

/** Before the job has read anything, so that what is gone is what it lost: a passed loss is counted, and the audit finds where. */
export async function truncateUnderSkipping(scene: GuardScene, chance: Chance): Promise<Truncation> {
  const { fleet, desk, env } = scene;
  const workers = fleet.members('worker');
  const signal = (name: NodeJS.Signals): void => {
    for (const { program } of workers) program.signal(name);
  };
  const until = async (jobId: string): Promise<unknown> =>
    waitFor(`${jobId} to be accepted`, () => desk.state(jobId)?.state === 'RUNNING', { timeoutMs: RECOVERY_MAX_MS });
  signal('SIGSTOP');
  const truncated = await truncateUnder(scene, chance, {
    ...{ partition: 0, onLost: 'skip', until },
    onDeleted: () => signal('SIGCONT'),
  });
  const { jobId, partition } = truncated;
  const { code, out, notes } = await tidemark(env, 'job', 'audit', jobId, '-o', 'json');
  if (code !== 0) scene.notes.complaints.push(`the audit of ${jobId} ended with ${code}: ${out}${notes}`);
  const audit = code === 0 ? (JSON.parse(out) as Audit) : undefined;
  if (audit?.verdict !== 'proven' || audit.remaining !== '0')
    scene.notes.complaints.push(`${jobId} does not add up: ${out}`);
  const lost = audit?.ranges.flatMap((range) => range.lost ?? []) ?? [];
  const named = lost.map(({ first, last }) => ({ partition, first: BigInt(first), last: BigInt(last) }));
  return checked(scene, truncated, { onLost: 'skip', end: 'COMPLETED(loss)', lost: named });
}

/** What `tidemark job audit -o json` says of it, as far as it matters here. */
interface Audit {
  readonly verdict: string;
  readonly remaining: string;
  readonly ranges: readonly { readonly lost: readonly { readonly first: string; readonly last: string }[] | null }[];
}

async function checked(
  scene: GuardScene,
  { jobId, partition, first, before, state }: Awaited<ReturnType<typeof truncateUnder>>,
  said: { readonly onLost: string; readonly end: string; readonly lost: readonly LostOffsets[] },
): Promise<Truncation> {
  const expected = undelivered({ partition, first, before, delivered: await deliveredOf(scene, jobId) });
  const [lost, gone] = [intervalsText(said.lost), intervalsText(expected)];
  const end = `${state?.state}(${state?.reason})`;
  const complain = (words: string): void =>
    void scene.notes.complaints.push(`${jobId} (--on-lost ${said.onLost}) ${words}`);
  if (gone === '') complain('had everything in hand before it was deleted, so nothing was shown');
  if (lost !== gone)
    complain(`says that it lost ${lost || 'nothing'}, and ${gone} were deleted before they were delivered`);
  if (!end.startsWith(said.end)) complain(`is ${end} and not ${said.end}`);
  return { jobId, lost };
}

async function deliveredOf({ pool }: GuardScene, jobId: string): Promise<ReadonlySet<bigint>> {
  const { rows } = await pool.query<{ at: string }>('select record_offset::text as at from effects where job_id = $1', [
    jobId,
  ]);
  return new Set(rows.map(({ at }) => BigInt(at)));
}
