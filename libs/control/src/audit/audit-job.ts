/**
 * Proves a job's numbers: its ranges tile the window, each adds up, and what it counted is what the log, the dead letters and,
 * if one is named, the sink show when they are read again. It says what can no longer be proved, and changes nothing.
 */
import type { JobState, LostOffsets } from '@tidemark/contracts';
import { JobPhase, resultOfRanges, tilingFaults, windowsOf } from '@tidemark/jobs';
import { COUNTER_NAMES, isEmpty, type RangeCounters } from '@tidemark/keyspace';
import { type RangeView, viewJob } from '../job-view.ts';
import type { ControlParts } from '../parts.ts';
import { type AuditedRange, type AuditOptions, auditRanges, remainingOf } from './audit-ranges.ts';
import type { Finding } from './prove-range.ts';

export interface JobAudit {
  /** `proven`: everything agrees. `unprovable`: nothing contradicts, but a part cannot be seen any more. */
  readonly verdict: 'proven' | 'unprovable' | 'broken';
  readonly ranges: readonly AuditedRange[];
  /** Of the job as a whole. */
  readonly findings: readonly Finding[];
  /** Of the ranges together; with what they name as lost where they stopped. */
  readonly counters: RangeCounters;
  /** Offsets read again. */
  readonly scanned: bigint;
  /** Offsets of the window that the job has neither passed yet nor lost. */
  readonly remaining: bigint;
}

export type AuditAnswer =
  | { readonly kind: 'audited'; readonly audit: JobAudit }
  | { readonly kind: 'not pinned' }
  | { readonly kind: 'no ranges' };

export type AuditParts = Pick<ControlParts, 'cluster' | 'store' | 'schedule'> & {
  readonly jobLog: Pick<ControlParts['jobLog'], 'checkpoints'>;
};

/** A job that is under way is proved up to its cursors. Throws TidemarkError `unavailable` when a service is down. */
export async function auditJob(parts: AuditParts, state: JobState, options: AuditOptions = {}): Promise<AuditAnswer> {
  if (state.pin === null) return { kind: 'not pinned' };
  const { ranges, source } = await viewJob(parts, state);
  const windows = windowsOf(state.pin);
  if (source === 'none' && !windows.every(isEmpty)) return { kind: 'no ranges' };
  const findings: Finding[] = tilingFaults(windows, ranges).map((message) => ({ kind: 'broken', message }));
  const { totals: counters, lost } = resultOfRanges(ranges);
  findings.push(...resultFindings(state, { counters, lost }, ranges));
  const remaining = ranges.reduce((sum, range) => sum + remainingOf(range), 0n);
  findings.push(...endFindings(state, { remaining, parked: counters.parked }));
  const audited = await auditRanges(parts.cluster, { state, ranges, options });
  const scanned = ranges.reduce((sum, { start, cursor }) => sum + (cursor - start), 0n);
  const all = [...findings, ...audited.flatMap((range) => range.findings)];
  const verdict = all.some(({ kind }) => kind === 'broken') ? 'broken' : all.length > 0 ? 'unprovable' : 'proven';
  return { kind: 'audited', audit: { verdict, ranges: audited, findings, counters, scanned, remaining } };
}

function resultFindings(
  { totals, lost }: Pick<JobState, 'totals' | 'lost'>,
  sum: { readonly counters: RangeCounters; readonly lost: readonly LostOffsets[] },
  ranges: readonly RangeView[],
): readonly Finding[] {
  if (totals === null) return [];
  const findings: Finding[] = COUNTER_NAMES.filter((name) => totals[name] !== sum.counters[name]).map((name) => ({
    kind: 'broken',
    message: `the job's state says ${name} ${totals[name]}, its ranges together ${sum.counters[name]}`,
  }));
  const [said, shown] = [placesOf(lost), placesOf(sum.lost)];
  // A distributor of an older version named only where ranges stopped, one by one.
  const stopped = ranges.flatMap((range) =>
    range.lost.map((interval) => ({ ...interval, partition: range.partition })),
  );
  if (said !== shown && said !== placesOf(stopped))
    findings.push({ kind: 'broken', message: `the job's state says lost: ${said}; its ranges: ${shown}` });
  return findings;
}

function placesOf(lost: readonly LostOffsets[]): string {
  const places = lost.map(({ partition, first, last }) => `${partition}:${first} to ${last}`);
  return places.toSorted().join(', ') || 'nothing';
}

/** Nothing of a completed job may be open, however well its numbers add up so far. */
function endFindings(
  { state }: JobState,
  open: { readonly remaining: bigint; readonly parked: bigint },
): readonly Finding[] {
  if (state !== JobPhase.completed) return [];
  const found: Finding[] = [];
  if (open.remaining > 0n)
    found.push({
      kind: 'broken',
      message: `the job is completed, and ${open.remaining} offsets of its window were not passed`,
    });
  if (open.parked > 0n)
    found.push({ kind: 'broken', message: `the job is completed, and ${open.parked} of its records are parked` });
  return found;
}
