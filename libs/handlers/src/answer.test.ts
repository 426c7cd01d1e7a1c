import { expect, it } from 'vitest';
import { type Answer, badAnswer, isAnswer } from './answer.ts';
import { done, fenced, skip } from './handler.ts';

it.each<[answer: unknown, count: number, isOne: boolean]>([
  [done(), 1, true],
  [skip('old'), 5, true],
  [fenced('7'), 5, true],
  [[done(), skip('old')], 2, true],
  [[], 0, true],
  [[done()], 2, false],
  [[done(), undefined], 2, false],
  [[done(), { kind: 'fine' }], 2, false],
  [{ kind: 'fine' }, 1, false],
  ['done', 1, false],
  [undefined, 1, false],
  [null, 1, false],
])('%j for %i records: %s', (answer, count, isOne) => {
  expect(isAnswer(answer as Answer, count)).toBe(isOne);
});

it('says what was returned instead', () => {
  expect(badAnswer([done()])).toMatchObject({
    class: 'data',
    message: expect.stringContaining('returned a list of 1'),
  });
  expect(badAnswer(undefined).message).toContain('returned undefined');
});
