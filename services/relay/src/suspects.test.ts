import { describe, expect, it } from 'vitest';
import { createSuspects } from './suspects.ts';

function rowsOf(positions: readonly number[]) {
  return positions.map((position) => ({ position: BigInt(position) }));
}

/** Publishes until a row is refused alone. `newcomers` become visible between the sessions, in between the others. */
function findCulprit(count: number, culprit: bigint, newcomers: readonly number[] = []) {
  const suspects = createSuspects();
  let waiting = rowsOf(Array.from({ length: count }, (_, i) => 2 * (i + 1)));
  const late = [...newcomers];
  const sent: bigint[] = [];
  for (let refusals = 0; ; ) {
    const batch = waiting.slice(0, suspects.prefix(waiting));
    if (batch.some(({ position }) => position === culprit)) {
      if (batch.length === 1) return { refusals, sent };
      refusals += 1;
      suspects.accuse(batch);
      const next = late.shift();
      if (next !== undefined) waiting = [...waiting, ...rowsOf([next])].sort((a, b) => Number(a.position - b.position));
      continue;
    }
    suspects.acquit(batch);
    sent.push(...batch.map(({ position }) => position));
    waiting = waiting.slice(batch.length);
  }
}

describe('suspects', () => {
  it.each([1, 2, 3, 10, 999, 4_000])('any culprit among %i rows is alone after log2 of them refusals', (count) => {
    const places =
      count > 10 ? [1, 2, count / 2, count - 1, count].map(Math.ceil) : [...Array(count).keys()].map((i) => i + 1);
    for (const place of places) {
      const culprit = BigInt(2 * place);
      const { refusals, sent } = findCulprit(count, culprit);
      expect(refusals).toBeLessThanOrEqual(Math.ceil(Math.log2(count)));
      expect(sent).toEqual(Array.from({ length: place - 1 }, (_, i) => BigInt(2 * (i + 1))));
    }
  });

  it('rows that become visible meanwhile go in their place and keep nobody from being found', () => {
    const { refusals, sent } = findCulprit(64, 100n, [1, 51, 99, 97]);
    expect(refusals).toBeLessThanOrEqual(6);
    expect(sent).toEqual(expect.arrayContaining([1n, 51n, 97n, 98n, 99n]));
    expect(new Set(sent).size).toBe(sent.length);
  });

  it('without a refusal nothing is held apart, and a batch that is taken in the end clears its rows', () => {
    const suspects = createSuspects();
    const rows = rowsOf([1, 2, 3, 4]);
    expect(suspects.prefix(rows)).toBe(4);
    suspects.accuse(rows);
    expect(suspects.prefix(rows)).toBe(2);
    suspects.acquit(rows);
    expect(suspects.prefix(rows)).toBe(4);
  });
});
