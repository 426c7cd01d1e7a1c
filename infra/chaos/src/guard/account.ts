/**
 * What the guards themselves say that they removed, held against what the broker shows. Their account is what is durable of
 * it, marks of their own cuts and what they found gone by the hand of others; their words are the log lines of their cuts. Pure.
 */
import type { LogWatch, TruncationMark } from '@tidemark/contracts';
import type { Place } from './needs.ts';

export interface Account {
  /** The highest: everything below it may go. */
  readonly mark: bigint;
  readonly removals: readonly Pick<LogWatch['removals'][number], 'fromOffset' | 'toOffset'>[];
  readonly releases: LogWatch['releases'];
}

/** By `placeText`. */
export type Accounts = ReadonlyMap<string, Account>;

export interface Watermark extends Place {
  readonly lowWatermark: bigint;
}

/** `retention.cut`, as a guard logged it: `[from, to)` went. A guard that was killed may have cut without a word. */
export interface SaidCut extends Place {
  readonly guard: string;
  readonly from: bigint;
  readonly to: bigint;
  readonly offsets: bigint;
}

export function placeText({ topic, partition }: Place): string {
  return `${topic}/${partition}`;
}

export function accountsOf(
  marks: Iterable<Pick<TruncationMark, 'topic' | 'partition' | 'offset'>>,
  watches: Iterable<Pick<LogWatch, 'topic' | 'partition' | 'removals' | 'releases'>>,
): Accounts {
  const accounts = new Map<string, Account>();
  for (const mark of marks) accounts.set(placeText(mark), { mark: mark.offset, removals: [], releases: [] });
  for (const watch of watches) {
    const { removals, releases } = watch;
    accounts.set(placeText(watch), { mark: accounts.get(placeText(watch))?.mark ?? 0n, removals, releases });
  }
  return accounts;
}

/** Every topic of a run was empty at first, so from 0 on something must explain what is gone. */
export function accountedUpTo({ mark, removals }: Pick<Account, 'mark' | 'removals'>): bigint {
  let upTo = mark;
  for (const { fromOffset, toOffset } of removals.toSorted((a, b) => (a.fromOffset < b.fromOffset ? -1 : 1)))
    if (fromOffset <= upTo && toOffset > upTo) upTo = toOffset;
  return upTo;
}

/** `account` was read after the low watermark: a mark is durable before anything is cut, so at no instant may more be gone. */
export function unaccounted(look: Watermark, account: Account | undefined): string | undefined {
  const upTo = account === undefined ? 0n : accountedUpTo(account);
  if (look.lowWatermark <= upTo) return undefined;
  return `${placeText(look)} begins at ${look.lowWatermark}, and the guards account for what went below ${upTo} only`;
}

/** When all is quiet: what was promised is done, what was said is so, and each knows its own doing from that of others. */
export function accountFaults(
  looks: readonly Watermark[],
  accounts: Accounts,
  facts: { readonly said: readonly SaidCut[]; readonly isCutByOthers: (topic: string) => boolean },
): readonly string[] {
  const lows = new Map(looks.map((look) => [placeText(look), look.lowWatermark]));
  const faults = looks.flatMap((look) => {
    const account = accounts.get(placeText(look));
    const upTo = account === undefined ? 0n : accountedUpTo(account);
    const others = facts.isCutByOthers(look.topic) ? [] : (account?.removals ?? []);
    const more = unaccounted(look, account);
    return [
      ...(more === undefined ? [] : [more]),
      ...(upTo > look.lowWatermark
        ? [`${placeText(look)} begins at ${look.lowWatermark}, and the guards say that all below ${upTo} is gone`]
        : []),
      ...others.map(
        ({ fromOffset, toOffset }) =>
          `${placeText(look)}: the guards took [${fromOffset}, ${toOffset}) for the doing of others, and nobody else cuts there`,
      ),
    ];
  });
  return [...faults, ...facts.said.flatMap((cut) => saidFaults(cut, lows, accounts))];
}

function saidFaults(cut: SaidCut, lows: ReadonlyMap<string, bigint>, accounts: Accounts): readonly string[] {
  const { guard, from, to, offsets } = cut;
  const place = placeText(cut);
  const low = lows.get(place) ?? 0n;
  const mark = accounts.get(place)?.mark ?? 0n;
  const words = `${guard} says that it cut [${from}, ${to}) of ${place}`;
  return [
    ...(offsets === to - from && to > from ? [] : [`${words}, and that these are ${offsets} offsets`]),
    ...(to <= low ? [] : [`${words}, which begins at ${low}`]),
    ...(to <= mark ? [] : [`${words}, where the highest mark is ${mark}`]),
  ];
}

/** What a job needs that was released it needs no more, as far as the promise of the floor goes. */
export function isReleased(account: Account | undefined, holder: string): boolean {
  return account?.releases.some((release) => release.holder === holder) ?? false;
}

export interface SeenRelease extends Place {
  readonly holder: string;
  readonly atMs: bigint;
}

/** A floor is dropped by a limit that was set, and not before its time. */
export function releaseFault(
  release: SeenRelease,
  facts: { readonly releaseMs: number | undefined; readonly pinnedAtMs: bigint | undefined },
): string | undefined {
  const what = `the floor of ${release.holder} at ${placeText(release)} was released`;
  const { releaseMs, pinnedAtMs } = facts;
  if (releaseMs === undefined) return `${what}, and no limit says so`;
  if (pinnedAtMs === undefined) return `${what}, and it is no job that was pinned`;
  const heldMs = release.atMs - pinnedAtMs;
  return heldMs > BigInt(releaseMs) ? undefined : `${what} after ${heldMs} ms, and its limit is ${releaseMs} ms`;
}

/** Of the lines of a guard. */
export function saidCuts(guard: string, lines: readonly Readonly<Record<string, unknown>>[]): readonly SaidCut[] {
  return lines
    .filter((line) => line['msg'] === 'retention.cut')
    .map((line) => ({
      guard,
      topic: String(line['topic']),
      partition: Number(line['partition']),
      from: numberOf(line['logStartOffset']),
      to: numberOf(line['mark']),
      offsets: numberOf(line['cutOffsets']),
    }));
}

/** -1 where none was said. */
function numberOf(value: unknown): bigint {
  return /^\d+$/.test(String(value)) ? BigInt(String(value)) : -1n;
}
