import { expect, it } from 'vitest';
import { chanceOf } from './chance.ts';

/** By the published code of Mulberry32: recorded seeds mean what they meant. */
it('draws what its seed says, everywhere', () => {
  const chance = chanceOf(1);
  expect([chance.next(), chance.next()]).toEqual([0.6270739405881613, 0.002735721180215478]);
});

it('draws both ends, and nothing beyond', () => {
  const chance = chanceOf(7);
  expect(new Set(Array.from({ length: 200 }, () => chance.between(3, 6)))).toEqual(new Set([3, 4, 5, 6]));
});

it('forks a stream that depends on its name and the seed, not on what was drawn', () => {
  const drawn = chanceOf(7);
  drawn.next();
  expect(drawn.fork('a').next()).toBe(chanceOf(7).fork('a').next());
  expect(drawn.fork('a').next()).not.toBe(drawn.fork('b').next());
});

it('shuffles without losing or repeating', () => {
  const items = Array.from({ length: 20 }, (_, place) => place);
  const shuffled = chanceOf(7).shuffled(items);
  expect(shuffled).not.toEqual(items);
  expect(shuffled.toSorted((a, b) => a - b)).toEqual(items);
});

it('picks nothing from nothing', () => {
  expect(() => chanceOf(7).pick([])).toThrow('nothing to pick from');
});
