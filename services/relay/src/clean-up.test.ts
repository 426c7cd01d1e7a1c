import { NOTHING_VISIBLE, type OutboxReader, parseSnapshot, snapshotText } from '@tidemark/outbox';
import { expect, it } from 'vitest';
import type { Progress } from './batches.ts';
import { createCleanUp } from './clean-up.ts';
import { CLEANUP_BATCHES_MAX } from './limits.ts';
import { NOTHING_PARKED, type ParkedKeys, parkedKeysOf } from './parked-keys.ts';

function progressAt(snapshot: string, parked: ParkedKeys = NOTHING_PARKED): Progress {
  const identity = { systemIdentifier: '1', timeline: 1 };
  return { position: { snapshot: parseSnapshot(snapshot), window: undefined, walInsertLsn: '0/0', identity }, parked };
}

function parkedAt(position: bigint): ParkedKeys {
  const text = { topic: 't', key: 'k', table: '', type: 'x', reason: 'too large' };
  return parkedKeysOf([{ ...text, position, bytes: 1n, parkedAtMs: 0n, triedAtMs: 0n }]);
}

/** Notes what it is told to remove; each window takes so many calls. */
function fakeReader(calls = 1) {
  const told: string[] = [];
  let left = calls;
  const reader: Pick<OutboxReader, 'cleanup' | 'removePublished'> = {
    async cleanup({ after, upTo }, spared = [], goOnAt) {
      const from = snapshotText(after) === snapshotText(NOTHING_VISIBLE) ? 'start' : snapshotText(after);
      told.push(`${from} to ${snapshotText(upTo)} but ${spared.length}, ${goOnAt ?? 'all'}`);
      left -= 1;
      if (left > 0) return { rows: 1, goOnAt: BigInt(left) };
      left = calls;
      return { rows: 1, goOnAt: undefined };
    },
    async removePublished(published, parts) {
      told.push(
        `${snapshotText(published)}: ${parts.map(({ key, position, below }) => `${key} ${position} to ${below}`)}`,
      );
    },
  };
  return { told, reader };
}

const signal = new AbortController().signal;

it('a session looks through everything once, then only at what came since, and not twice at the same', async () => {
  const { told, reader } = fakeReader();
  const cleanUp = createCleanUp(reader);
  const first = progressAt('5:5:');
  await cleanUp.round(first, signal);
  await cleanUp.round(first, signal);
  await cleanUp.round(progressAt('5:5:'), signal);
  await cleanUp.round(progressAt('5:9:5'), signal);
  expect(told).toEqual(['start to 5:5: but 0, all', '5:5: to 5:9:5 but 0, all']);
});

it('what is left of a window is done before a newer one', async () => {
  const { told, reader } = fakeReader(CLEANUP_BATCHES_MAX + 1);
  const cleanUp = createCleanUp(reader);
  await cleanUp.round(progressAt('5:5:'), signal);
  expect(told).toHaveLength(CLEANUP_BATCHES_MAX);
  await cleanUp.round(progressAt('7:7:'), signal);
  expect(told.slice(CLEANUP_BATCHES_MAX, CLEANUP_BATCHES_MAX + 2)).toEqual([
    'start to 5:5: but 0, 1',
    '5:5: to 7:7: but 0, all',
  ]);
});

it('a row that waited and was sent lies before every window, and is removed by its key', async () => {
  const { told, reader } = fakeReader();
  const cleanUp = createCleanUp(reader);
  await cleanUp.round(progressAt('5:5:', parkedAt(3n)), signal);
  await cleanUp.round(progressAt('7:7:', parkedAt(4n)), signal);
  await cleanUp.round(progressAt('7:7:'), signal);
  expect(told).toEqual(['start to 5:5: but 1, all', '5:5: to 7:7: but 1, all', '7:7:: k 3 to 4', '7:7:: k 4 to null']);
});

it('what failed is done again', async () => {
  const { told, reader } = fakeReader();
  let fails = true;
  const cleanUp = createCleanUp({
    ...reader,
    async cleanup(...request) {
      const answer = await reader.cleanup(...request);
      if (fails) throw new Error('gone');
      return answer;
    },
  });
  await expect(cleanUp.round(progressAt('5:5:'), signal)).rejects.toThrow('gone');
  fails = false;
  await cleanUp.round(progressAt('6:6:'), signal);
  expect(told).toEqual(['start to 5:5: but 0, all', 'start to 5:5: but 0, all', '5:5: to 6:6: but 0, all']);
});
