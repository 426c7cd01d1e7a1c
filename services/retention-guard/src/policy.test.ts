import { expect, it } from 'vitest';
import { parsePolicies } from './policy.ts';

it('reads ages, sizes, both, and several topics', () => {
  expect(parsePolicies('orders=7d, chat=10GiB,audit=30d+50MiB,fresh=0s')).toEqual({
    kind: 'parsed',
    policies: [
      { topic: 'orders', ageMs: 7 * 86_400_000, bytes: undefined },
      { topic: 'chat', ageMs: undefined, bytes: 10n * 2n ** 30n },
      { topic: 'audit', ageMs: 30 * 86_400_000, bytes: 50n * 2n ** 20n },
      { topic: 'fresh', ageMs: 0, bytes: undefined },
    ],
  });
  expect(parsePolicies('')).toEqual({ kind: 'parsed', policies: [] });
});

it.each([
  ['orders', /"orders" is not topic=bound/],
  ['=7d', /is not topic=bound/],
  ['a b=7d', /is not topic=bound/],
  ['orders=7', /"7" is no bound; say how long as 7d/],
  ['orders=7 days', /no bound/],
  ['orders=-1', /"-1" is no bound/],
  ['orders=10GB', /"10GB" is no bound/],
  ['orders=7d+8d', /"8d" is no bound/],
  ['orders=1h,orders=2h', /topic orders is named twice/],
  ['orders=99999999999w', /century/],
  ['orders=604800000', /say how long as 7d/],
])('C3: refuses %j and says why', (text, reason) => {
  const parsed = parsePolicies(text);
  expect(parsed.kind).toBe('faults');
  expect(parsed.kind === 'faults' && parsed.faults.join('; ')).toMatch(reason);
});
