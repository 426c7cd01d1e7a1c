import { jsonText } from '@tidemark/contracts';
import { budgetUseOf, type JobView, type WaitingRangeView } from '@tidemark/control';
import { samplePin, sampleState } from '@tidemark/jobs/testing';
import { NO_COUNTS, toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { jobColumns, jobJson, jobLines } from './job-output.ts';
import { Format, printOne, printRows } from './output.ts';

const NOW_MS = 1_700_000_100_000;

function range(start: number, fields: Partial<WaitingRangeView> = {}): WaitingRangeView {
  return {
    partition: 0,
    start: toOffset(start),
    end: toOffset(start + 1),
    cursor: toOffset(start + 1),
    status: 'done',
    note: '',
    lost: [],
    passed: [],
    parked: [],
    counters: { ...NO_COUNTS, ok: 1n },
    owner: '',
    token: '',
    waiting: undefined,
    ...fields,
  };
}

function view(fields: Partial<JobView> = {}): JobView {
  const state = fields.state ?? sampleState({ pin: samplePin([[-1n, 99n]]) });
  return {
    state,
    source: 'store',
    ranges: [],
    windows: [],
    progress: { offsetsDone: 0n, offsetsTotal: 0n, percent: 100 },
    counters: NO_COUNTS,
    budget: budgetUseOf(state, NO_COUNTS, NOW_MS),
    waiting: undefined,
    storeNowMs: NOW_MS,
    ...fields,
  };
}

it('of very many ranges lists those that are not done, and says how many are left out', () => {
  const open = range(5_000, { status: 'open', cursor: toOffset(5_000), counters: NO_COUNTS });
  const ranges = [...Array.from({ length: 5_000 }, (_, n) => range(n)), open];
  const lines = jobLines(view({ ranges }));
  const header = lines.findIndex((line) => line.startsWith('RANGE'));
  expect(lines[header + 1]).toMatch(/^0:5000 +5000 +5001 +waiting/);
  expect(lines.at(-1)).toBe('4,801 more ranges are not listed; -o json lists all');
});

it('B1: names the places of what was lost so far, and says how many have none', () => {
  const passed = [{ first: toOffset(20), last: toOffset(49) }];
  const counters = { ...NO_COUNTS, ok: 18n, lost: 32n };
  const ranges = [range(-1, { end: toOffset(99), cursor: toOffset(49), status: 'open', counters, passed })];
  expect(jobLines(view({ ranges })).slice(-2)).toEqual([
    'lost: offsets 20 to 49 of partition 0',
    'lost: 2 offsets more, whose places were not kept',
  ]);
  expect(JSON.parse(jsonText(jobJson(view({ ranges }))))).toMatchObject({
    lost: [{ partition: 0, first: '20', last: '49' }],
    lostUnplaced: '2',
    ranges: [{ lost: [{ first: '20', last: '49' }] }],
  });
});

it('L4: shows texts of others as one line of plain characters', () => {
  const reason = 'breaker \u001b[2Jsms\ngateway';
  const state = sampleState({ state: 'SUSPENDED', reason });
  const waiting = { kind: 'person', reason: `a person: ${reason}`, sinceMs: NOW_MS - 5_000 } as const;
  const job = view({ state, waiting });
  const out: string[] = [];
  const terminal = { out: (line: string) => out.push(line) };
  printOne(terminal, Format.table, null, () => jobLines(job));
  const rows = [{ state, view: job }];
  printRows(terminal, Format.table, { rows, columns: jobColumns(rows), none: '' });
  const told = out.filter((line) => line.includes('sms'));
  expect(told).toHaveLength(3);
  for (const line of told) expect(line).toMatch(/breaker +\[2Jsms gateway/);
  expect(out.join('')).not.toMatch(/\p{Cc}/u);
});

it('writes 64-bit numbers as strings, no limit and nobody knows as null', () => {
  const waiting = { kind: 'rate', reason: 'its turn', sinceMs: undefined } as const;
  const windows = [{ partition: 0, start: -1n, end: 9n, clamped: '', settledUpTo: undefined }];
  const counters = { ...NO_COUNTS, retries: 9_007_199_254_740_993n };
  const json: unknown = JSON.parse(
    jsonText(jobJson(view({ counters, windows, waiting, ranges: [range(0, { waiting })] }))),
  );
  expect(json).toMatchObject({
    counters: { retries: '9007199254740993', parked: '0' },
    budget: [{ name: 'seconds', max: null }, { max: null }, { max: null }, { name: 'dead letters', max: '10000' }],
    settled: [{ partition: 0, settledUpTo: null }],
    waiting: { kind: 'rate', reason: 'its turn', seconds: null },
    ranges: [{ cursor: '1', status: 'done', waiting: { kind: 'rate' } }],
  });
});

it('P1: names the keys that waited unsent at the pin, and says how many more there were', () => {
  const unsent = [{ key: 'o-"1"', position: 7n, reason: 'too \u001b[2Jlarge' }];
  const pin = { ...samplePin([[-1n, 99n]]), unsentKeys: 22n, unsent };
  const lines = jobLines(view({ state: sampleState({ pin }) }));
  const at = lines.findIndex((line) => line.startsWith('unsent'));
  expect(lines.slice(at, at + 3)).toEqual([
    'unsent     22 keys were waiting unsent at the pin, and their rows are not in the window',
    expect.stringMatching(/^ +key "o-\\"1\\"" from position 7 on: too \P{Cc}+$/u),
    '           21 more are not listed; see "tidemark relay status"',
  ]);
  expect(jobLines(view()).some((line) => line.startsWith('unsent'))).toBe(false);
});
