import { expect, it } from 'vitest';
import { differences } from './differences.ts';

const apache = new Map([
  ['t/0', ['a', 'b', 'c']],
  ['t/1', ['d']],
]);

it('two readers that saw the same do not differ', () => {
  expect(differences(apache, new Map([...apache].toReversed()))).toEqual([]);
});

it.each([
  ['lost one', ['a', 'c'], /saw 2 records, Apache's 3; .* number 2: c instead of b/],
  ['saw one twice', ['a', 'b', 'b', 'c'], /saw 4 records, Apache's 3; .* number 3: b instead of c/],
  ['saw another order', ['b', 'a', 'c'], /saw 3 records, Apache's 3; .* number 1: b instead of a/],
  ['saw one that is aborted', ['a', 'b', 'c', 'x'], /saw 4 records, Apache's 3; .* number 4: x instead of undefined/],
])('a reader that %s differs', (_, own, sentence) => {
  const found = differences(apache, new Map([...apache, ['t/0', own]]));
  expect(found).toHaveLength(1);
  expect(found[0]).toMatch(sentence);
});

it('a partition that only one of them saw differs', () => {
  expect(differences(new Map(), apache)).toHaveLength(2);
});
