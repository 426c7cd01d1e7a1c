import type { ParkedKey, RelayPosition } from '@tidemark/contracts';
import type { RetryWish } from '@tidemark/outbox';
import { describe, expect, it } from 'vitest';
import { retryParked } from './retry-parked.ts';

function keyOf(key: string, more: Partial<ParkedKey> = {}): ParkedKey {
  return {
    topic: 'orders',
    key,
    position: 1n,
    table: '',
    type: 'x',
    bytes: 1n,
    reason: 'too large',
    parkedAtMs: 0n,
    triedAtMs: 1n,
    ...more,
  };
}

function positionOf(parked: readonly ParkedKey[]): RelayPosition {
  return {
    formatVersion: 2,
    relay: 'main',
    snapshot: '1:1:',
    nextSnapshot: '',
    place: 0n,
    walInsertLsn: '0/0',
    systemIdentifier: '1',
    timeline: 1,
    partitionCounts: {},
    partitioner: 'murmur2',
    parked,
    atMs: 0n,
  };
}

/** What the relay says at one look after another; with the last word the time is over. */
async function askedOf(says: readonly (readonly ParkedKey[])[], wish: RetryWish) {
  const wishes: RetryWish[] = [];
  let look = 0;
  const answer = await retryParked(
    {
      newestPosition: () => Promise.resolve(positionOf(says[Math.min(look++, says.length - 1)] ?? [])),
      ask(asked) {
        wishes.push(asked);
        return Promise.resolve();
      },
      goesOn: () => Promise.resolve(look < says.length),
    },
    wish,
  );
  return { answer, wishes };
}

const ALL = { topic: null, key: null };

describe('a retry', () => {
  it('waits until each key is free or was tried in vain', async () => {
    const tried = (triedAtMs: bigint) => keyOf('b', { triedAtMs, reason: 'still too large' });
    const { answer, wishes } = await askedOf(
      [[keyOf('a'), keyOf('b')], [keyOf('a'), tried(2n)], [tried(2n)], [tried(3n)], []],
      ALL,
    );
    expect(wishes).toEqual([ALL]);
    expect(answer).toEqual({ freed: [keyOf('a')], stillParked: [tried(3n)], untried: [] });
  });

  it('does not take a try for its own that may have begun before', async () => {
    const { answer } = await askedOf([[keyOf('a')], [keyOf('a', { triedAtMs: 2n })], []], ALL);
    expect(answer).toEqual({ freed: [keyOf('a', { triedAtMs: 2n })], stillParked: [], untried: [] });
  });

  it('is about the keys that are meant, whatever becomes of others', async () => {
    const parked = [keyOf('a'), keyOf('a', { topic: 'bills' }), keyOf('b')];
    const { answer } = await askedOf([parked, [keyOf('a'), keyOf('b')]], { topic: 'bills', key: 'a' });
    expect(answer).toEqual({ freed: [keyOf('a', { topic: 'bills' })], stillParked: [], untried: [] });
  });

  it('tells what was not tried within the time', async () => {
    const { answer } = await askedOf([[keyOf('a')], [keyOf('a')]], { topic: null, key: 'a' });
    expect(answer).toEqual({ freed: [], stillParked: [], untried: [keyOf('a')] });
  });

  it('asks nothing when no parked key is meant', async () => {
    const { answer, wishes } = await askedOf([[keyOf('a')]], { topic: 'bills', key: null });
    expect(wishes).toEqual([]);
    expect(answer).toEqual({ freed: [], stillParked: [], untried: [] });
  });
});
