import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { printReport } from './print-report.ts';
import type { CycleReport, PartitionReport } from './report.ts';

const partition: PartitionReport = {
  topic: 'orders',
  partition: 0,
  outcome: 'idle',
  reason: '',
  cutOffsets: 0n,
  heldOffsets: 0n,
};
const print = (some: Partial<PartitionReport>, more: Partial<CycleReport> = {}) => {
  const lines: string[] = [];
  const report: CycleReport = {
    topics: [],
    partitions: [{ ...partition, ...some }],
    drift: new Map(),
    repaired: new Map(),
    recreated: new Map(),
    staleFloors: [],
    ...more,
  };
  const code = printReport(report, { write: (text) => lines.push(text) });
  return { code, lines: lines.map((line) => JSON.parse(line) as unknown) };
};
const removal = { from: toOffset(0n), to: toOffset(2n ** 60n), seenAtMs: 5n, needed: [], isNew: true };

it('64-bit numbers are text', () => {
  expect(print({ removals: [removal] }).lines).toMatchObject([
    { removals: [{ from: '0', to: '1152921504606846976' }] },
  ]);
});

it('what others removed is a fault when somebody needed it', () => {
  expect(print({ removals: [removal] }).code).toBe(0);
  const needed = [{ holder: 'a', from: removal.from, to: removal.to }];
  expect(print({ removals: [{ ...removal, needed }] }).code).toBe(1);
  expect(print({ removals: [{ ...removal, needed, isNew: false }] }).code).toBe(1);
});

it('says what it repaired, what drifted, and what was created again', () => {
  const settings = ['retention.ms is 1, not -1'];
  const more = { drift: new Map([['a', settings]]), repaired: new Map([['b', settings]]) };
  expect(print({}, { ...more, recreated: new Map([['c', 'it was deleted']]) }).lines.slice(1)).toEqual([
    { topic: 'a', drift: settings },
    { topic: 'b', repaired: settings },
    { topic: 'c', recreated: 'it was deleted' },
  ]);
});
