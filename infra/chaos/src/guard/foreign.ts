/** A stranger deletes records under a job that stops at a loss and under one that goes on, once each, when nothing else breaks. */
import type { LostOffsets } from '@tidemark/contracts';
import { subtractIntervals } from '@tidemark/keyspace';
import type { Chance } from '@tidemark/testkit/chance';
import { intervalsText, lossComplaint } from '../losses.ts';
import { truncateUnder, underWay } from '../traversal/faults/jobs.ts';
import { undelivered } from './audit.ts';
import { tidemark } from './programs.ts';
import type { GuardScene } from './scene.ts';

/** Exit code of an audit that contradicts nothing, and cannot see everything any more. */
const AUDIT_UNPROVABLE = 8;

type Truncated = Awaited<ReturnType<typeof truncateUnder>>;

export interface Truncation {
  readonly jobId: string;
  /** What the job says is lost. */
  readonly lost: string;
}

/** In the middle of what the job does: it must name exactly what it had not delivered. */
export async function truncateUnderStopping(scene: GuardScene, chance: Chance): Promise<Truncation> {
  const truncated = await truncateUnder(scene, chance, { partition: 1, onLost: 'stop', until: underWayIn(scene) });
  return await checked(scene, truncated, { onLost: 'stop', end: 'UNRECOVERABLE' });
}

/** The same of a job that goes on behind it. An audit must find what it had settled before gone, and nothing else. */
export async function truncateUnderSkipping(scene: GuardScene, chance: Chance): Promise<Truncation> {
  const truncated = await truncateUnder(scene, chance, { partition: 0, onLost: 'skip', until: underWayIn(scene) });
  await auditSkipping(scene, truncated);
  return await checked(scene, truncated, { onLost: 'skip', end: 'COMPLETED(loss)' });
}

function underWayIn(scene: GuardScene): (jobId: string) => Promise<unknown> {
  return (jobId) => underWay(scene, jobId);
}

/** What `tidemark job audit -o json` says of it, as far as it matters here. */
interface Audit {
  readonly verdict: string;
  readonly remaining: string;
  readonly findings: readonly unknown[];
  readonly ranges: readonly {
    readonly lost: readonly Span[] | null;
    readonly scan: { readonly gone: readonly Span[] };
    readonly findings: readonly { readonly kind: string; readonly message: string }[];
  }[];
}

interface Span {
  readonly first: string;
  readonly last: string;
}

async function auditSkipping(scene: GuardScene, truncated: Truncated): Promise<void> {
  const { jobId, partition, state } = truncated;
  const { code, out, notes } = await tidemark(scene.env, 'job', 'audit', jobId, '-o', 'json');
  const complain = (words: string): void =>
    void scene.notes.complaints.push(`the audit of ${jobId} ${words}: ${out}${notes}`);
  if (code !== AUDIT_UNPROVABLE) return complain(`ended with ${code} and not with ${AUDIT_UNPROVABLE}`);
  const { verdict, remaining, findings, ranges } = JSON.parse(out) as Audit;
  const spans = (all: readonly Span[]): readonly LostOffsets[] =>
    all.map(({ first, last }) => ({ partition, first: BigInt(first), last: BigInt(last) }));
  const lost = ranges.flatMap((range) => spans(range.lost ?? []));
  if (intervalsText(lost) !== intervalsText(state?.lost ?? [])) complain('names other places than the job');
  if (verdict !== 'unprovable' || remaining !== '0' || findings.length > 0) complain('does not add up');
  // All of `[first, before)` is gone; what of it was not lost had been settled, and there is nothing else to be said.
  const settled = subtractIntervals(spans(ranges.flatMap(({ scan }) => scan.gone)), lost);
  const gone = settled.map(
    ({ first, last }) => `offsets ${first === last ? first : `${first} to ${last}`} are not in the log any more`,
  );
  const said = ranges.flatMap((range) => range.findings.map(({ kind, message }) => `${kind}: ${message}`));
  if (said.join('\n') !== `unprovable: ${gone.join('; ')}`)
    complain('finds something else than what was settled and is gone');
}

/** Must have lost what was not delivered of `[first, before)`, to the offset, and have ended as its `--on-lost` says. */
export async function checked(
  scene: GuardScene,
  { jobId, partition, first, before, state }: Truncated,
  must: { readonly onLost: string; readonly end: string },
): Promise<Truncation> {
  const expected = undelivered({ partition, first, before, delivered: await deliveredOf(scene, jobId) });
  const said = state?.lost ?? [];
  const end = `${state?.state}(${state?.reason})`;
  const complain = (words: string): void => void scene.notes.complaints.push(`${words} (--on-lost ${must.onLost})`);
  if (expected.length === 0) complain(`${jobId} had everything in hand before it was deleted, so nothing was shown`);
  const loss = lossComplaint(jobId, { said, expected });
  if (loss !== undefined) complain(loss);
  if (!end.startsWith(must.end)) complain(`${jobId} is ${end} and not ${must.end}`);
  return { jobId, lost: intervalsText(said) };
}

async function deliveredOf({ pool }: GuardScene, jobId: string): Promise<ReadonlySet<bigint>> {
  const { rows } = await pool.query<{ at: string }>('select record_offset::text as at from effects where job_id = $1', [
    jobId,
  ]);
  return new Set(rows.map(({ at }) => BigInt(at)));
}
