import { expect, it } from 'vitest';
import { belongingTo, LetterParameter } from './belonging.ts';
import { deadLetterFacts, deadLetterHeaders } from './dead-letter.ts';

const JOB = { topic: 'orders', fromMs: null, toMs: null, parameters: {} };
const plain = { timestampMs: 5n, headers: [] };

function letterOf(fields: Readonly<Record<string, string>>) {
  const origin = { topic: 'orders', partition: 0, offset: 7n };
  return { timestampMs: 5n, headers: deadLetterHeaders({ headers: [], origin, fields, error: 'bad' }) };
}

it('asks for no record when all belong, and for the time when the job has one: from is included, to is not', () => {
  expect(belongingTo(JOB)).toBeUndefined();
  const inTime = belongingTo({ ...JOB, fromMs: 5, toMs: 8 });
  expect([4n, 5n, 7n, 8n].map((timestampMs) => inTime?.({ timestampMs, headers: [] }))).toEqual([
    false,
    true,
    true,
    false,
  ]);
});

it('takes of a dead-letter topic the letters that are asked for, and no pointer', () => {
  const parameters = { [LetterParameter.job]: 'job-1', [LetterParameter.roundsMax]: '3' };
  const belongs = belongingTo({ ...JOB, topic: 'orders.dlq', parameters });
  expect(belongs?.(letterOf({ job: 'job-1' }))).toBe(true);
  expect(belongs?.(letterOf({ job: 'job-1', round: '2' }))).toBe(true);
  expect(belongs?.(letterOf({ job: 'job-1', round: '3' }))).toBe(false);
  expect(belongs?.(letterOf({ job: 'job-2' }))).toBe(false);
  expect(belongs?.(letterOf({ job: 'job-1', form: 'pointer' }))).toBe(false);
  expect(belongs?.(plain)).toBe(false);
});

it('leaves a topic of others alone that only has such a name', () => {
  expect(belongingTo({ ...JOB, topic: 'theirs.dlq' })?.(plain)).toBe(true);
});

it.each([
  ['partition', '9999999999'],
  ['offset', '9223372036854775808'],
  ['letter_offset', '9223372036854775808'],
])('headers that anybody may have written lead nowhere that no log has: %s %s', (name, text) => {
  const { headers } = letterOf({ job: 'job-1', letter_partition: '1', [name]: text });
  const facts = deadLetterFacts(headers);
  expect(facts?.source).toEqual(name === 'letter_offset' ? { partition: 0, offset: 7n } : undefined);
});
