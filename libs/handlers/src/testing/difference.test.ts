import { expect, it } from 'vitest';
import { differenceOf } from './difference.ts';

it('says nothing of what is the same, whatever the order of its fields', () => {
  expect(differenceOf({ a: 1n, b: [new Date(0)] }, { b: [new Date(0)], a: 1n })).toBeUndefined();
});

it('shows a row that is missing and one that is there too often, each as a line', () => {
  const rows = [1, 2, 3].map((id) => ({ id, name: `row ${id}` }));
  expect(differenceOf(rows, [rows[0], rows[2], rows[2]])).toBe(
    "- { id: 2, name: 'row 2' }\n+ { id: 3, name: 'row 3' }",
  );
});

it('tells another order, and numbers from their text', () => {
  expect(differenceOf([1, 2], [2, 1])).toBe('- [ 1, 2 ]\n+ [ 2, 1 ]');
  expect(differenceOf({ count: 1 }, { count: '1' })).toBe("- { count: 1 }\n+ { count: '1' }");
});

it('shows only the first lines of a long difference', () => {
  const many = Array.from({ length: 100 }, (_, id) => ({ id }));
  expect(differenceOf([], many)?.split('\n')).toHaveLength(13);
  expect(differenceOf([], many)).toMatch(/… and \d+ more lines$/);
});
