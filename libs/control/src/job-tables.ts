/** A job's window and ranges, as every program of ours shows them to people. */

import { identityOf } from '@tidemark/jobs';
import { IDENTITY_TERMS, RangeStatus } from '@tidemark/keyspace';
import type { JobView, SettledWindow, WaitingRangeView } from './job-view.ts';
import { wordOfRange } from './range-word.ts';
import { type Column, tableLines } from './table.ts';
import { describeWaiting } from './waiting.ts';

export interface WindowRow {
  readonly partition: number;
  readonly start: bigint;
  readonly end: bigint;
  readonly clamped: string;
}

const WINDOW_COLUMNS: readonly Column<WindowRow>[] = [
  { title: 'PARTITION', of: ({ partition }) => partition, align: 'right' },
  { title: 'START', of: ({ start }) => start, align: 'right' },
  { title: 'END', of: ({ end }) => end, align: 'right' },
  { title: 'OFFSETS', of: ({ start, end }) => end - start, align: 'right' },
  { title: 'NOTE', of: ({ clamped }) => clamped },
];

/** Covered is `start < offset <= end`. */
export function windowLines(partitions: readonly WindowRow[]): readonly string[] {
  return tableLines(WINDOW_COLUMNS, partitions);
}

const SETTLED_COLUMNS: readonly Column<SettledWindow>[] = [
  ...WINDOW_COLUMNS.filter(({ title }) => title !== 'NOTE'),
  { title: 'SETTLED UP TO', of: ({ settledUpTo }) => settledUpTo ?? '', align: 'right' },
  { title: 'NOTE', of: ({ clamped }) => clamped },
];

/** With the contiguous prefix of each partition. */
export function settledLines(windows: readonly SettledWindow[]): readonly string[] {
  return tableLines(SETTLED_COLUMNS, windows);
}

const COUNTER_TITLES: Readonly<Record<(typeof IDENTITY_TERMS)[number], string>> = {
  ok: 'OK',
  skipped: 'SKIPPED',
  deadLettered: 'DEAD',
  filtered: 'FILTERED',
  markers: 'MARKERS',
  compacted: 'COMPACTED',
  lost: 'LOST',
  parked: 'PARKED',
};

function rangeColumns(storeNowMs: number): readonly Column<WaitingRangeView>[] {
  return [
    { title: 'RANGE', of: ({ partition, start }) => `${partition}:${start}` },
    { title: 'CURSOR', of: ({ cursor }) => cursor, align: 'right' },
    { title: 'END', of: ({ end }) => end, align: 'right' },
    { title: 'STATUS', of: (range) => wordOfRange(range, storeNowMs) },
    ...IDENTITY_TERMS.map((term) => ({
      title: COUNTER_TITLES[term],
      of: ({ counters }: WaitingRangeView) => counters[term],
      align: 'right' as const,
    })),
    { title: 'RETRIES', of: ({ counters }) => counters.retries, align: 'right' },
    { title: 'ADDS UP', of: (range) => (identityOf(range).kind === 'holds' ? 'yes' : 'NO') },
    { title: 'OWNER', of: ({ owner }) => owner },
    { title: 'WAITS FOR', of: ({ waiting }) => (waiting === undefined ? '' : describeWaiting(waiting, storeNowMs)) },
    // What an owner waits for is said already.
    { title: 'NOTE', of: ({ status, note }) => (status === RangeStatus.open ? '' : note) },
  ];
}

/** Left out when no range has anything to say there. */
const IF_FILLED = ['OWNER', 'WAITS FOR', 'NOTE'];

/** A range is named by partition and start; its numbers add up when they account for every offset up to the cursor. */
export function rangeLines({ ranges, storeNowMs }: Pick<JobView, 'ranges' | 'storeNowMs'>): readonly string[] {
  const columns = rangeColumns(storeNowMs).filter(
    (column) => !IF_FILLED.includes(column.title) || ranges.some((range) => column.of(range) !== ''),
  );
  return tableLines(columns, ranges);
}
