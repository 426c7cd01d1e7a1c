/** The line of a run, and what in it breaks a promise. Pure. */
import { beginVerdict } from '../violations.ts';

export interface GuardReport {
  readonly faults: Readonly<Record<string, number>>;
  readonly jobs: number;
  readonly refused: number;
  readonly records: number;
  readonly needed_and_deleted: number;
  readonly lost: number;
  readonly lost_injected: number;
  readonly cut: number;
  readonly samples: number;
  readonly above_floor: number;
  readonly at_floor: number;
  readonly series_runs: number;
  readonly series_breaks: number;
  readonly quiet_partitions: number;
  readonly quiet_held: number;
  readonly quiet_off: number;
  readonly truncated: Readonly<Record<'skip' | 'stop', string>>;
  readonly released: string;
  readonly account_looks: number;
  readonly account_cuts: number;
  readonly account_off: number;
}

/** As sentences; empty = good. `kinds` are the faults that were to happen. */
export function violationsOf(report: GuardReport, kinds: readonly string[]): readonly string[] {
  const { sentences, unless } = beginVerdict(report.faults, kinds);
  unless(report.records > 0, 'no job covered any record');
  unless(
    report.needed_and_deleted === 0,
    `${report.needed_and_deleted} records that a job needed were neither delivered nor deleted by the harness`,
  );
  unless(
    report.lost === report.lost_injected,
    `the jobs report ${report.lost} lost offsets, ${report.lost_injected} were deleted by the harness before they were delivered`,
  );
  unless(report.cut > 0, 'the guards cut nothing, so nothing was shown');
  unless(report.samples > 0, 'nobody looked at the low watermarks');
  unless(report.above_floor === 0, `${report.above_floor} times the log began above what was still needed`);
  unless(report.at_floor > 0, 'no floor ever held anything, so nothing was shown');
  unless(report.series_runs > 1, `the series made ${report.series_runs} runs, so nothing was shown`);
  unless(report.series_breaks === 0, `${report.series_breaks} gaps or overlaps of the runs of the series`);
  unless(report.quiet_held > 0, 'no floor held anything when all was quiet, so nothing was shown');
  unless(
    report.quiet_off === 0,
    `${report.quiet_off} of ${report.quiet_partitions} partitions do not begin where floors and policy meet, two cycles after all was quiet`,
  );
  unless(report.released !== '', 'no job lost anything to a limit of its hold, so nothing was shown');
  unless(
    report.account_looks > 0 && report.account_cuts > 0,
    "nobody looked at the guards' own account, so nothing was shown",
  );
  unless(
    report.account_off === 0,
    `${report.account_off} times the guards' own account of what they removed is not what the broker shows`,
  );
  return sentences;
}
