import { type Logger, silentLogger } from '@tidemark/observability';
import type { Blocker, Outbox } from '@tidemark/outbox';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startHousekeeping } from './housekeeping.ts';
import { BLOCKERS_EVERY_MS } from './limits.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const FIRST: Omit<Blocker, 'ageMs'> = { pid: 7, preparedAs: null, application: 'shop', user: 'app', state: 'active' };

it('names a transaction that holds rows back once, and the next one of the same session again', async () => {
  const beganAtMs = Date.now() - 60_000;
  let begun = [{ ...FIRST, beganAtMs }];
  const named: unknown[] = [];
  const logger: Logger = { ...silentLogger, warn: (fields: unknown) => void named.push(fields) };
  const housekeeping = startHousekeeping(
    outboxWith(() => begun),
    { leaseTtlMs: 10_000, logger, onWish: () => {} },
  );

  await vi.advanceTimersByTimeAsync(BLOCKERS_EVERY_MS);
  expect(named).toMatchObject([{ pid: 7, application: 'shop', ageMs: 65_000 }]);
  // A prepared one beside it, and the first seen again: the clocks tell its beginning a little differently.
  begun = [
    { ...FIRST, beganAtMs: beganAtMs + 100 },
    { ...FIRST, pid: null, preparedAs: 'gid', beganAtMs },
  ];
  await vi.advanceTimersByTimeAsync(BLOCKERS_EVERY_MS);
  expect(named).toMatchObject([{ pid: 7 }, { preparedAs: 'gid' }]);
  begun = [{ ...FIRST, beganAtMs: beganAtMs + 20_000 }];
  await vi.advanceTimersByTimeAsync(BLOCKERS_EVERY_MS);
  expect(named).toMatchObject([{ pid: 7 }, { preparedAs: 'gid' }, { pid: 7 }]);
  await housekeeping.end();
});

/** Only what is asked here: a duty that fails is made up by its next round. */
function outboxWith(begun: () => readonly (Omit<Blocker, 'ageMs'> & { readonly beganAtMs: number })[]): Outbox {
  const blockers = () =>
    Promise.resolve(begun().map(({ beganAtMs, ...blocker }) => ({ ...blocker, ageMs: Date.now() - beganAtMs })));
  return {
    reader: { blockers, untoldTables: async () => [], takeRetries: async () => [], guardPartitions: async () => [] },
    lease: { acquire: async () => ({ kind: 'granted', term: 1n, published: undefined }) },
  } as unknown as Outbox;
}
