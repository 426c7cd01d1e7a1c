/** The line of a run, and what in it breaks a promise. Pure. */
import { beginVerdict } from '../violations.ts';
import { HUGE_CHANGED, HUGE_INSERTED, LEASE_TTL_MS, TAKEOVER_SLACK_MS } from './limits.ts';

export interface RelayReport {
  readonly faults: Readonly<Record<string, number>>;
  readonly committed: number;
  readonly in_topic: number;
  readonly missing: number;
  readonly duplicates: number;
  readonly out_of_order: number;
  readonly never_committed: number;
  readonly stale: number;
  readonly transactions: number;
  readonly rolled_back: number;
  readonly unknown_committed: number;
  readonly unknown_gone: number;
  readonly lazily_gone: number;
  readonly keys_parked: number;
  readonly keys_freed: number;
  readonly hanging_ended: number;
  readonly sessions_cut: number;
  readonly huge_seen_at_kill: readonly number[];
  readonly takeover_max_ms: number;
  readonly longest_stall_ms: number;
}

export const TAKEOVER_MAX_MS = LEASE_TTL_MS + TAKEOVER_SLACK_MS;

/** As sentences; empty = good. `kinds` are the faults that were to happen. */
export function violationsOf(report: RelayReport, kinds: readonly string[]): readonly string[] {
  const { sentences, unless } = beginVerdict(report.faults, kinds);
  unless(report.committed > 0, 'nothing was committed');
  unless(report.missing === 0, `${report.missing} committed rows are in no topic`);
  unless(report.duplicates === 0, `${report.duplicates} rows are in their topic more than once`);
  unless(report.out_of_order === 0, `${report.out_of_order} rows came after a later one of their key`);
  unless(report.never_committed === 0, `${report.never_committed} records are of rows that no transaction committed`);
  unless(report.stale === 0, `${report.stale} rows were told otherwise than they stood`);
  unless(
    report.takeover_max_ms <= TAKEOVER_MAX_MS,
    `the rows waited ${report.takeover_max_ms} ms for the next relay, ${TAKEOVER_MAX_MS} are allowed`,
  );
  if (kinds.includes('oversize_row')) unless(report.keys_parked > 0, 'no relay parked a key, so nothing was shown');
  if (kinds.includes('connections_cut')) unless(report.sessions_cut > 0, 'no session of a relay was ended');
  if (kinds.includes('postgres_crashed'))
    unless(
      report.unknown_committed + report.unknown_gone > 0,
      'every commit was answered, although the server crashed',
    );
  if (kinds.includes('huge_transaction'))
    unless(
      report.huge_seen_at_kill.some((seen) => seen < HUGE_INSERTED + HUGE_CHANGED),
      'every huge transaction was published before its relay was killed, so nothing was shown',
    );
  return sentences;
}
