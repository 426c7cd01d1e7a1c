/** Whether a run kept the promises, and if not, which one was broken. Pure. */
import { beginVerdict } from '../violations.ts';
import { LEASE_TTL_MS, TAKEOVER_SLACK_MS } from './limits.ts';

/** The line that is printed. Field names are part of the command. */
export interface TraversalReport {
  readonly faults: Readonly<Record<string, number>>;
  readonly records: number;
  readonly missing: number;
  readonly lost: number;
  readonly lost_injected: number;
  readonly duplicate_effects: number;
  readonly repeated: number;
  readonly repeat_bound: number;
  readonly stale_writes_attempted: number;
  readonly stale_writes_accepted: number;
  readonly takeover_max_ms: number;
}

export const TAKEOVER_MAX_MS = LEASE_TTL_MS + TAKEOVER_SLACK_MS;

/** What must not be, as sentences; empty = the run is good. `kinds` are those that were asked for. */
export function violationsOf(report: TraversalReport, kinds: readonly string[]): readonly string[] {
  const { sentences, unless } = beginVerdict(report.faults, kinds);
  unless(report.records > 0, 'no job covered any record');
  unless(
    report.missing === 0,
    `${report.missing} records of the windows have neither an effect nor a dead letter, and nobody deleted them`,
  );
  unless(
    report.lost === report.lost_injected,
    `the jobs report ${report.lost} lost offsets, ${report.lost_injected} were deleted before they were settled`,
  );
  unless(
    report.duplicate_effects === 0,
    `${report.duplicate_effects} effects are of another value than their record, outside of every window, or of a dead letter`,
  );
  unless(
    report.repeated <= report.repeat_bound,
    `${report.repeated} deliveries were repetitions, the faults explain ${report.repeat_bound}`,
  );
  unless(
    report.stale_writes_accepted === 0,
    `${report.stale_writes_accepted} writes with an older token were taken after one with a younger token`,
  );
  if (kinds.includes('worker_stopped'))
    unless(
      report.stale_writes_attempted > 0,
      'no stopped worker tried to write after it went on, so nothing was shown',
    );
  unless(
    report.takeover_max_ms <= TAKEOVER_MAX_MS,
    `a range of a dead or stopped worker waited ${report.takeover_max_ms} ms for its next owner, ${TAKEOVER_MAX_MS} are allowed`,
  );
  return sentences;
}
