import { jsonText } from '@tidemark/contracts';
import type { AuditedRange, JobAudit } from '@tidemark/control';
import { samplePin, sampleRequest, sampleState } from '@tidemark/jobs/testing';
import { NO_COUNTS, toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { auditJson, auditLines } from './audit-output.ts';

const STATE = sampleState({
  request: sampleRequest({ topic: 'orders' }),
  state: 'COMPLETED',
  reason: 'loss',
  pin: samplePin([
    [-1n, 9n],
    [-1n, 9n],
  ]),
});
const COUNTERS = { ...NO_COUNTS, ok: 7n, lost: 3n };

function range(partition: number, fields: Partial<AuditedRange> = {}): AuditedRange {
  return {
    range: {
      partition,
      start: toOffset(-1),
      end: toOffset(9),
      cursor: toOffset(9),
      status: 'done',
      note: '',
      lost: [],
      passed: [],
      parked: [],
      counters: COUNTERS,
      owner: '',
      token: '',
    },
    scan: {
      records: 7n,
      filtered: 0n,
      markers: 0n,
      compacted: 0n,
      contradicted: 0n,
      gone: [{ first: 0n, last: 2n }],
      unread: undefined,
    },
    lost: [{ first: 0n, last: 2n }],
    remaining: 0n,
    effects: undefined,
    findings: [],
    ...fields,
  };
}

function audit(fields: Partial<JobAudit> = {}): JobAudit {
  const counters = { ...NO_COUNTS, ok: 14n, lost: 6n };
  return {
    verdict: 'proven',
    ranges: [range(0), range(1)],
    findings: [],
    counters,
    scanned: 20n,
    remaining: 0n,
    ...fields,
  };
}

it('shows what was lost by its exact places, and where nobody can tell any more', () => {
  expect(auditLines(STATE, audit())).toEqual([
    'job        job-1',
    'state      COMPLETED (loss)',
    'scanned    20 offsets again, 0 of the window are not passed yet',
    'settled    14 ok, 0 skipped, 0 dead-lettered',
    'apart      at most 0 records were delivered again',
    'lost       6 offsets: 0:0 to 2, 1:0 to 2',
    '',
    'RANGE  CURSOR  REMAINING  RECORDS  FILTERED  MARKERS  COMPACTED  GONE  ADDS UP',
    '0:-1        9          0        7         0        0          0     3  yes',
    '1:-1        9          0        7         0        0          0     3  yes',
    '',
    'PROVEN: the numbers are what the log shows',
  ]);
  const finding = { kind: 'unprovable', message: 'offsets 0 to 4 are not in the log any more' } as const;
  const vague = audit({
    verdict: 'unprovable',
    ranges: [range(0), range(1, { lost: undefined, findings: [finding] })],
  });
  expect(auditLines(STATE, vague)).toContain(
    'lost       6 offsets: 0:0 to 2; not all places were kept in 1:-1, and more was removed since',
  );
  expect(auditLines(STATE, vague).slice(-2)).toEqual([
    'unprovable: range 1:-1: offsets 0 to 4 are not in the log any more',
    'NOT ALL PROVABLE: nothing contradicts the numbers, but not everything can be seen any more',
  ]);
});

it('sums the effects over the ranges, names the first of each kind, and lists them by range', () => {
  const effects = {
    found: 5n,
    duplicates: 1n,
    repeated: 2n,
    missing: 1n,
    noneDue: 1n,
    excused: { without: 0n, unknown: 0n },
    unknown: 2n,
    first: { duplicates: [4n], missing: [7n], unknown: [{ first: 8n, last: 9n, reason: 'away\u001b[2J' }] },
  };
  const asked = audit({ verdict: 'broken', ranges: [range(0, { effects }), range(1, { effects })] });
  const lines = auditLines(STATE, asked);
  expect(lines).toContain(
    'effects    of 10 records in the sink, 2 more than once, 2 records without, 2 rightly without, 4 unknown',
  );
  expect(lines).toContain('missing    orders/0/7, orders/1/7');
  expect(lines).toContain('duplicate  orders/0/4, orders/1/4');
  expect(lines.join('\n')).toMatch(/GONE +UNIQUE +DUPLICATE +MISSING +UNKNOWN +ADDS UP\n0:-1 .* 3 +5 +1 +1 +2 +yes/);
  expect(JSON.parse(jsonText(auditJson(STATE, asked)))).toMatchObject({
    verdict: 'broken',
    scanned: '20',
    processed: '14',
    lost: '6',
    effects: {
      uniqueIds: '10',
      duplicateIds: '2',
      repeated: '4',
      missing: '2',
      noneDue: '2',
      unknown: '4',
      first: {
        duplicate: ['orders/0/4', 'orders/1/4'],
        missing: ['orders/0/7', 'orders/1/7'],
        unknown: [{ first: 'orders/0/8', last: 'orders/0/9' }, { first: 'orders/1/8' }],
      },
    },
    ranges: [{ effects: { uniqueIds: '5' }, lost: [{ first: '0', last: '2' }] }, { range: '1:-1' }],
  });
  expect(auditJson(STATE, audit())).toMatchObject({ effects: null });
});

it('shows texts of handlers without their control characters', () => {
  const finding = { kind: 'unprovable', message: 'offsets 8: away\u001b[2J' } as const;
  const lines = auditLines(STATE, audit({ ranges: [range(0, { findings: [finding] })] }));
  expect(lines.join('\n')).not.toContain('\u001b');
});
