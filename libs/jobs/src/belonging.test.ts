import { expect, it } from 'vitest';
import { belongingTo, LetterParameter, newestText } from './belonging.ts';
import { deadLetterFacts, deadLetterHeaders, editedHeaders } from './dead-letter.ts';

const JOB = { topic: 'orders', fromMs: null, toMs: null, parameters: {} };
const plain = { offset: 3n, timestampMs: 5n, headers: [] };

function letterOf(fields: Readonly<Record<string, string>>, at = 3n) {
  const origin = { topic: 'orders', partition: 0, offset: 7n };
  return { offset: at, timestampMs: 5n, headers: deadLetterHeaders({ headers: [], origin, fields, error: 'bad' }) };
}

it('asks for no record when all belong, and for the time when the job has one: from is included, to is not', () => {
  expect(belongingTo(JOB)).toBeUndefined();
  const inTime = belongingTo({ ...JOB, fromMs: 5, toMs: 8 });
  expect([4n, 5n, 7n, 8n].map((timestampMs) => inTime?.({ ...plain, timestampMs }))).toEqual([
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

it('takes of a record with several letters the one that counts, of one where none does no letter, and of all others any', () => {
  const of = (text: string) => belongingTo({ ...JOB, topic: 'orders.dlq', parameters: { 'letters.newest': text } });
  const taken = (text: string) => [3n, 4n].map((at) => of(text)?.(letterOf({}, at)));
  expect(newestText(new Map([['0:7', [4n]]]))).toBe('0:7=4');
  expect(taken(newestText(new Map([['0:7', [4n]]])))).toEqual([false, true]);
  expect(taken(newestText(new Map([['0:7', []]])))).toEqual([false, false]);
  expect(taken(newestText(new Map([['0:7', [3n, 4n]]])))).toEqual([true, true]);
  expect(taken(newestText(new Map([['0:8', [4n]]])))).toEqual([true, true]);
  expect(taken('')).toEqual([true, true]);
});

it('leaves letters of a topic that was created again, when asked to, and takes those that do not say', () => {
  const parameters = { [LetterParameter.topicId]: 'now' };
  const belongs = belongingTo({ ...JOB, topic: 'orders.dlq', parameters });
  expect([{ topic_id: 'now' }, { topic_id: 'then' }, {}].map((fields) => belongs?.(letterOf(fields)))).toEqual([
    true,
    false,
    true,
  ]);
});

it('F5: a correction replaces what an earlier one said of itself, and leaves the rest of the block', () => {
  const { headers } = letterOf({ job: 'job-1', round: '3', topic_id: 'id' });
  const once = editedHeaders(headers, { number: 1, of: { partition: 0, offset: 4n }, by: 'a@b', note: 'typo' });
  const twice = editedHeaders(once, { number: 2, of: { partition: 0, offset: 9n }, by: 'c@d', note: 'typo' });
  expect(twice).toHaveLength(once.length);
  expect(deadLetterFacts(twice)).toMatchObject({
    ...deadLetterFacts(headers),
    edit: 2,
    edited: { of: { partition: 0, offset: 9n }, by: 'c@d', note: 'typo' },
  });
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
