import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AbortedTransaction, BatchFate, CommittedFilter, ControlType } from './committed.ts';
import { arbitraryActions } from './testing/arbitrary-actions.ts';
import { type Action, abortedListFor, type ModelBatch, playModel } from './testing/model-log.ts';

const P = 7;

function send(records: number, producer = P): Action {
  return { kind: 'send', producer, records };
}

function end(outcome: 'abort' | 'commit', producer = P): Action {
  return { kind: 'end', producer, outcome };
}

/** Offsets of delivered data when the answer holds these batches and this list. */
function delivered(batches: readonly ModelBatch[], aborted: readonly AbortedTransaction[]): bigint[] {
  const filter = new CommittedFilter(aborted);
  const offsets: bigint[] = [];
  for (const batch of batches) {
    const transactional = batch.kind === 'marker' || batch.transactional;
    const control = batch.kind === 'marker' ? ControlType[batch.outcome] : ControlType.none;
    const fate = filter.fateOf({ producerId: batch.producerId, lastOffset: batch.last, transactional, control });
    if (fate !== BatchFate.deliver) continue;
    for (let offset = batch.first; offset <= batch.last; offset++) offsets.push(offset);
  }
  return offsets;
}

describe('the committed filter', () => {
  it('A9: one producer aborts, commits, commits, aborts', () => {
    const log = playModel([
      send(3),
      end('abort'),
      send(3),
      end('commit'),
      send(3),
      end('commit'),
      send(3),
      end('abort'),
      end('abort'),
    ]);
    expect(delivered(log.batches, log.aborted)).toEqual([4n, 5n, 6n, 8n, 9n, 10n]);
  });

  it('A9: aborts that complete in the other order than they began, and a commit between them', () => {
    const [a, b, c] = [1, 2, 3];
    const log = playModel([send(2, a), send(2, b), send(1, c), end('abort', b), end('abort', a), end('commit', c)]);
    expect(log.aborted.map(({ firstOffset }) => firstOffset)).toEqual([2n, 0n]); // by completion, as the broker lists
    expect(delivered(log.batches, log.aborted)).toEqual([4n]);
  });

  it('drops data of an aborted transaction whose marker lies after the answer', () => {
    const log = playModel([send(2), send(2), end('abort')]);
    expect(delivered(log.batches.slice(0, 2), abortedListFor(log, 0n, 4n))).toEqual([]);
  });

  it('drops data of an aborted transaction that began before the answer', () => {
    const log = playModel([send(2), send(2), end('abort'), send(1), end('commit')]);
    expect(delivered(log.batches.slice(1), abortedListFor(log, 2n, log.highWatermark))).toEqual([5n]);
  });

  it('delivers what a producer commits right after a marker that opens the answer', () => {
    const log = playModel([send(2), end('abort'), send(1), end('commit')]);
    expect(delivered(log.batches.slice(1), abortedListFor(log, 2n, log.highWatermark))).toEqual([3n]);
  });

  it('delivers what an idempotent producer with an aborted id writes outside transactions', () => {
    const filter = new CommittedFilter([{ producerId: 1n, firstOffset: 0n }]);
    const batch = { producerId: 1n, lastOffset: 0n, transactional: false, control: ControlType.none };
    expect(filter.fateOf(batch)).toBe(BatchFate.deliver);
  });

  it('is exact for any interleaving, and any answer cut out of the log', () => {
    const actions = arbitraryActions({ producers: 4, actionsMax: 40, recordsMax: 3 });
    fc.assert(
      fc.property(actions, fc.nat(), fc.nat(), fc.nat(), (played, fromSeed, lengthSeed, boundSeed) => {
        const log = playModel(played);
        const stable = log.batches.filter((batch) => batch.last < log.lastStableOffset);
        const from = stable.length === 0 ? 0 : fromSeed % stable.length;
        const answer = stable.slice(from, from + 1 + (lengthSeed % (stable.length + 1)));
        const first = answer[0]?.first ?? 0n;
        const last = answer.at(-1)?.last ?? -1n;
        // A broker knows only roughly where its answer ends: its list may name transactions that begin after it.
        const bound = last + 1n + BigInt(boundSeed % 10);
        const expected = [...log.committed]
          .filter((offset) => offset >= first && offset <= last)
          .sort((x, y) => Number(x - y));
        expect(delivered(answer, abortedListFor(log, first, bound))).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });
});
