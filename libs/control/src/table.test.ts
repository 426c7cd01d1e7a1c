import { expect, it } from 'vitest';
import { tableLines } from './table.ts';

it('lines columns up, numbers from the right, without blanks at line ends', () => {
  const columns = [
    { title: 'TOPIC', of: (row: { topic: string; end: bigint }) => row.topic },
    { title: 'END', of: (row: { topic: string; end: bigint }) => row.end, align: 'right' as const },
    { title: 'NOTE', of: () => '' },
  ];
  const rows = [
    { topic: 'orders', end: 7n },
    { topic: 'im', end: 9_007_199_254_740_993n },
  ];
  expect(tableLines(columns, rows)).toEqual([
    'TOPIC                END  NOTE',
    'orders                 7',
    'im      9007199254740993',
  ]);
});

it('hands a terminal no control characters of others, and keeps a row in its line', () => {
  const columns = [{ title: 'NOTE', of: (text: string) => text }];
  expect(tableLines(columns, ['\u001b[2Jred', 'two\nlines', 'swapped \u202e order'])).toEqual([
    'NOTE',
    ' [2Jred',
    'two lines',
    'swapped   order',
  ]);
});
