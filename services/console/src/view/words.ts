/** Small conversions that all views share. */
import type { Counters } from '@tidemark/contracts';
import type { BudgetUse, Waiting } from '@tidemark/control';
import type { Known } from '../collect/feed.ts';

export function instant(ms: number | bigint): string {
  return new Date(Number(ms)).toISOString();
}

const YEAR_10000_MS = 253_402_300_800_000n;

/** A producer may write any number as a time. */
export function instantOrNull(ms: bigint | undefined): string | null {
  return ms === undefined || ms < 0n || ms >= YEAR_10000_MS ? null : instant(ms);
}

/** Milliseconds as seconds with one decimal: always finite. */
export function secondsOf(ms: number): number {
  return Number.isFinite(ms) ? Math.round(ms / 100) / 10 : 0;
}

export function digitsOrNull(value: bigint | undefined): string | null {
  return value === undefined ? null : value.toString();
}

export function reasonOf(known: Known<unknown>): string | null {
  return known.kind === 'known' ? null : known.reason;
}

export function countersText(counters: Counters) {
  return {
    ok: counters.ok.toString(),
    skipped: counters.skipped.toString(),
    deadLettered: counters.deadLettered.toString(),
    filtered: counters.filtered.toString(),
    markers: counters.markers.toString(),
    compacted: counters.compacted.toString(),
    lost: counters.lost.toString(),
    parked: counters.parked.toString(),
    retries: counters.retries.toString(),
    chunks: counters.chunks.toString(),
    maybeRedelivered: counters.maybeRedelivered.toString(),
  };
}

export function waitingView(waiting: Waiting | undefined, storeNowMs: number) {
  if (waiting === undefined) return null;
  const { kind, reason, sinceMs } = waiting;
  return { kind, reason, seconds: sinceMs === undefined ? null : Math.max(0, secondsOf(storeNowMs - sinceMs)) };
}

export function budgetView(budget: readonly BudgetUse[]) {
  return budget.map(({ name, used, max, isUsedUp }) => ({
    name,
    used: used.toString(),
    max: digitsOrNull(max),
    isUsedUp,
  }));
}

export interface Bounded<Row> {
  readonly rows: readonly Row[];
  readonly omitted: number;
}

export function bounded<Row>(rows: readonly Row[], max: number): Bounded<Row> {
  return { rows: rows.slice(0, max), omitted: Math.max(0, rows.length - max) };
}
