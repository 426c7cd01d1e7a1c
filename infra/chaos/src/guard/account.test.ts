/** The check of the guards' own account, on planted ones. */
import { describe, expect, it } from 'vitest';
import {
  type Account,
  accountedUpTo,
  accountFaults,
  accountsOf,
  isReleased,
  releaseFault,
  type SaidCut,
  saidCuts,
  unaccounted,
} from './account.ts';

const PLACE = { topic: 'orders', partition: 0 };

const removal = (fromOffset: bigint, toOffset: bigint) => ({ fromOffset, toOffset, seenAtMs: 0n, needed: [] });

function account(fields: Partial<Account>): Account {
  return { mark: 0n, removals: [], releases: [], ...fields };
}

it('the account goes as far as marks and the removals of others reach without a gap', () => {
  expect(accountedUpTo(account({}))).toBe(0n);
  expect(accountedUpTo(account({ mark: 40n }))).toBe(40n);
  expect(accountedUpTo(account({ mark: 40n, removals: [removal(60n, 70n), removal(40n, 60n)] }))).toBe(70n);
  expect(accountedUpTo(account({ mark: 40n, removals: [removal(41n, 60n)] }))).toBe(40n);
  expect(accountedUpTo(account({ mark: 40n, removals: [removal(10n, 20n)] }))).toBe(40n);
});

it('a log that begins above the account is told, one that begins at or below it is not', () => {
  const low = (lowWatermark: bigint) => ({ ...PLACE, lowWatermark });
  expect(unaccounted(low(41n), account({ mark: 40n }))).toBe(
    'orders/0 begins at 41, and the guards account for what went below 40 only',
  );
  expect(unaccounted(low(1n), undefined)).toMatch(/below 0 only/);
  for (const at of [0n, 39n, 40n])
    expect(unaccounted(low(at), account({ mark: at === 0n ? 0n : 40n }))).toBeUndefined();
});

describe('when all is quiet', () => {
  const said: SaidCut = { ...PLACE, guard: 'guard-1.0', from: 10n, to: 40n, offsets: 30n };
  const faults = (
    parts: { readonly low?: bigint; readonly account?: Partial<Account>; readonly said?: Partial<SaidCut> },
    isCutByOthers = false,
  ) =>
    accountFaults(
      [{ ...PLACE, lowWatermark: parts.low ?? 40n }],
      new Map([['orders/0', account({ mark: 40n, ...parts.account })]]),
      { said: [{ ...said, ...parts.said }], isCutByOthers: () => isCutByOthers },
    );

  it('marks, log lines and the broker agree', () => {
    expect(faults({})).toEqual([]);
    expect(faults({ low: 50n, account: { removals: [removal(40n, 50n)] } }, true)).toEqual([]);
    // One that both cut at, one after the other: the second came to a log that began higher.
    expect(faults({ said: { from: 30n, offsets: 10n } })).toEqual([]);
  });

  it.each([
    ['a cut that was promised and not made', { low: 30n, said: { to: 30n, offsets: 20n } }, /all below 40 is gone/],
    ['more that is gone than was promised', { low: 45n }, /account for what went below 40 only/],
    ['a cut that was said and not made', { low: 40n, said: { to: 41n, offsets: 31n } }, /which begins at 40/],
    ['another number of offsets', { said: { offsets: 29n } }, /that these are 29 offsets/],
    ['nothing that was cut', { said: { from: 40n, offsets: 0n } }, /that these are 0 offsets/],
    ['an own cut taken for that of others', { account: { removals: [removal(0n, 10n)] } }, /doing of others/],
  ])('%s is told', (_, parts, sentence) => {
    expect(faults(parts).join('\n')).toMatch(sentence);
  });

  it('a cut without a durable mark is told, though the broker shows it', () => {
    const found = faults(
      { low: 60n, account: { removals: [removal(40n, 60n)] }, said: { to: 60n, offsets: 50n } },
      true,
    );
    expect(found).toEqual([expect.stringContaining('where the highest mark is 40')]);
  });
});

describe('releases', () => {
  const release = { ...PLACE, holder: 'job-1', atMs: 9_001n };

  it('are by a limit, and not before its time', () => {
    expect(releaseFault(release, { releaseMs: 8_000, pinnedAtMs: 1_000n })).toBeUndefined();
    expect(releaseFault({ ...release, atMs: 9_000n }, { releaseMs: 8_000, pinnedAtMs: 1_000n })).toMatch(
      /after 8000 ms/,
    );
    expect(releaseFault(release, { releaseMs: undefined, pinnedAtMs: 1_000n })).toMatch(/no limit says so/);
    expect(releaseFault(release, { releaseMs: 8_000, pinnedAtMs: undefined })).toMatch(/no job that was pinned/);
  });

  it('are of one holder in one place', () => {
    const watch = { ...PLACE, removals: [], releases: [{ holder: 'job-1', fromOffset: 3n, atMs: 1n }] };
    const accounts = accountsOf(
      [
        { ...PLACE, offset: 7n },
        { ...PLACE, partition: 1, offset: 2n },
      ],
      [watch],
    );
    expect(accounts.get('orders/0')).toEqual({ mark: 7n, removals: [], releases: watch.releases });
    expect(accounts.get('orders/1')).toEqual(account({ mark: 2n }));
    expect(isReleased(accounts.get('orders/0'), 'job-1')).toBe(true);
    expect(isReleased(accounts.get('orders/0'), 'job-2')).toBe(false);
    expect(isReleased(accounts.get('orders/1'), 'job-1')).toBe(false);
    expect(isReleased(undefined, 'job-1')).toBe(false);
  });
});

it('the words of a guard are its lines of cuts, and a line without numbers is a fault', () => {
  const line = {
    msg: 'retention.cut',
    topic: 'orders',
    partition: 0,
    logStartOffset: '10',
    mark: '40',
    cutOffsets: '30',
  };
  const cuts = saidCuts('guard-1.0', [{ msg: 'retention.held' }, line, { msg: 'retention.cut', topic: 'orders' }]);
  expect(cuts[0]).toEqual({ ...PLACE, guard: 'guard-1.0', from: 10n, to: 40n, offsets: 30n });
  expect(cuts[1]).toMatchObject({ from: -1n, to: -1n, offsets: -1n });
  expect(cuts).toHaveLength(2);
});
