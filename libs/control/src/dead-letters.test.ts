import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { type DeadLetter, LetterGroups } from './dead-letters.ts';
import { LETTER_GROUPS_MAX } from './limits.ts';

function letter(offset: number, fields: Partial<DeadLetter> = {}): DeadLetter {
  const timestampMs = BigInt(offset);
  return {
    origin: { topic: 't', partition: 0, offset: 5n },
    source: { partition: 0, offset: 5n },
    round: 1,
    jobId: 'job-1',
    handler: 'h',
    timestampMs,
    attempt: 1,
    faultClass: 'data',
    error: 'bad',
    form: 'record',
    topicId: undefined,
    edit: 0,
    edited: undefined,
    partition: 0,
    record: { offset: toOffset(offset), timestampMs, key: null, value: null, headers: [] },
    ...fields,
  };
}

it('puts together what differs only in numbers, the most frequent first, with the newest to look at', () => {
  const groups = new LetterGroups();
  groups.add(letter(1, { error: 'row 7 is short' }));
  groups.add(letter(2, { error: 'no such user' }));
  groups.add(letter(4, { error: 'row 12 is short' }));
  groups.add(letter(5, { error: 'row 12 is short', faultClass: 'transient' }));
  expect(groups.list()).toMatchObject([
    { count: 2, error: 'row # is short', newest: { partition: 0, offset: 4n }, firstAtMs: 1n, lastAtMs: 4n },
    { count: 1, error: 'no such user' },
    { count: 1, faultClass: 'transient' },
  ]);
});

it('is bounded, and says how many it could not tell apart', () => {
  const groups = new LetterGroups();
  for (let n = 0; n < LETTER_GROUPS_MAX + 3; n += 1) groups.add(letter(n, { jobId: `job-${n}` }));
  expect([groups.list().length, groups.others]).toEqual([LETTER_GROUPS_MAX, 3]);
});
