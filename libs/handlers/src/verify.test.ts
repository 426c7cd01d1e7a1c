import { expect, it } from 'vitest';
import { checkedVerdicts, duplicate, missing, noneDue, present, unknown } from '../index.ts';

it('takes one verdict for each record', () => {
  const verdicts = [present(), duplicate(2), missing(), noneDue('no address'), unknown('archived')];
  expect(checkedVerdicts(verdicts, 5)).toBe(verdicts);
  expect(checkedVerdicts([], 0)).toEqual([]);
});

it.each<[string, unknown, RegExp]>([
  ['one for all', present(), /for each of its 2 records; it returned object/],
  ['too few', [present()], /a list of 1/],
  ['too many', [present(), present(), present()], /a list of 3/],
  ['nothing', undefined, /it returned undefined/],
  ['a hole', [present(), undefined], /something else at place 1/],
  ['a word', ['present', present()], /something else at place 0/],
  ['a record that is there once, as a duplicate', [present(), duplicate(1)], /something else at place 1/],
  ['an unknown without a reason', [present(), { kind: 'unknown' }], /something else at place 1/],
  ['a number that is none', [duplicate(Number.NaN), present()], /something else at place 0/],
])('refuses %s', (_, answer, message) => {
  expect(() => checkedVerdicts(answer, 2)).toThrow(expect.objectContaining({ code: 'BAD_VERDICT', class: 'data' }));
  expect(() => checkedVerdicts(answer, 2)).toThrow(message);
});
