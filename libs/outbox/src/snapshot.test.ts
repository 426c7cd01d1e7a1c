import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  follows,
  isInWindow,
  isVisibleIn,
  NOTHING_VISIBLE,
  parseSnapshot,
  type Snapshot,
  snapshotText,
} from './snapshot.ts';

describe('the text of a snapshot', () => {
  it('is read and written without loss, beyond the integers of JavaScript', () => {
    const text = '9223372036854775000:9223372036854775807:9223372036854775001,9223372036854775805';
    expect(parseSnapshot(text)).toEqual({
      xmin: 9223372036854775000n,
      xmax: 9223372036854775807n,
      running: [9223372036854775001n, 9223372036854775805n],
    });
    expect(snapshotText(parseSnapshot(text))).toBe(text);
    expect(parseSnapshot('10:20:')).toEqual({ xmin: 10n, xmax: 20n, running: [] });
  });

  it.each(['', '10:20', '20:10:', '0:10:', '10:20:9', '10:20:20', '10:20:12,11', '10:20:11,', '10:20:x', ' 10:20:'])(
    'is refused when Postgres could not have printed it: %j',
    (text) => {
      expect(() => parseSnapshot(text)).toThrow(RangeError);
    },
  );
});

/** A history: transactions 1..n that end (or not yet) in some order; a snapshot after k of those ends. */
const histories = fc.integer({ min: 1, max: 30 }).chain((count) =>
  fc.record({
    count: fc.constant(count),
    endOrder: fc.shuffledSubarray(Array.from({ length: count }, (_, i) => BigInt(i + 1))),
    cuts: fc.tuple(fc.nat({ max: count }), fc.nat({ max: count }), fc.nat({ max: count })),
  }),
);

/** As GetSnapshotData does it: xmax is one above the highest that has ended. */
function snapshotAfter(endOrder: readonly bigint[], ends: number): Snapshot {
  const ended = new Set(endOrder.slice(0, ends));
  const xmax = [...ended].reduce((highest, txid) => (txid > highest ? txid : highest), 0n) + 1n;
  const running: bigint[] = [];
  for (let txid = 1n; txid < xmax; txid += 1n) if (!ended.has(txid)) running.push(txid);
  return { xmin: running[0] ?? xmax, xmax, running };
}

describe('windows between snapshots', () => {
  it('P9: consecutive windows hold every ended transaction once, and none that is still running', () => {
    fc.assert(
      fc.property(histories, ({ count, endOrder, cuts }) => {
        const ends = [...cuts].map((cut) => Math.min(cut, endOrder.length)).sort((a, b) => a - b);
        const snapshots = [NOTHING_VISIBLE, ...ends.map((k) => snapshotAfter(endOrder, k))];
        for (let txid = 1n; txid <= BigInt(count); txid += 1n) {
          const found = snapshots.slice(1).flatMap((upTo, i) => {
            const after = snapshots[i] ?? NOTHING_VISIBLE;
            return isInWindow({ after, upTo }, txid) ? [i] : [];
          });
          const endedAt = endOrder.indexOf(txid);
          const expected = ends.findIndex((k) => endedAt >= 0 && endedAt < k);
          expect(found).toEqual(expected === -1 ? [] : [expected]);
        }
      }),
    );
  });

  it('a later snapshot follows an earlier one and keeps everything visible', () => {
    fc.assert(
      fc.property(histories, ({ count, endOrder, cuts: [a, b] }) => {
        const older = snapshotAfter(endOrder, Math.min(a, b));
        const newer = snapshotAfter(endOrder, Math.max(a, b));
        expect(follows(older, newer)).toBe(true);
        for (let txid = 1n; txid <= BigInt(count); txid += 1n) {
          if (isVisibleIn(older, txid)) expect(isVisibleIn(newer, txid)).toBe(true);
        }
      }),
    );
  });

  it('an older snapshot does not follow one that saw more end', () => {
    expect(follows(parseSnapshot('10:12:'), parseSnapshot('8:11:8,9'))).toBe(false);
  });
});
