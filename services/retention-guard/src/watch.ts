/**
 * What others did to a log: records that went without us, and a log that went back. Pure.
 *
 * Whatever lies below the log start and above everything that we know to have gone is somebody else's doing: our own cuts
 * are durable marks before they are made, and offsets are read before marks. What had gone when a guard looked first is
 * nobody's concern, unless a job that was accepted still needs it.
 */
import type { JobState, LogWatch } from '@tidemark/contracts';
import type { FloorLook, FloorPlace } from '@tidemark/cursors';
import { isTerminal, jobOfHolder } from '@tidemark/jobs';
import { type Offset, offsetMax, offsetMin, toOffset } from '@tidemark/keyspace';
import type { PartitionOffsets } from '@tidemark/log';
import { type GroupFloor, holderOf } from './groups.ts';
import { mayHold, type Overdue } from './hold.ts';
import { REMOVALS_KEPT } from './limits.ts';

export interface Needed {
  readonly holder: string;
  /** `[from, to)`. */
  readonly from: Offset;
  readonly to: Offset;
}

/** Records `[from, to)` that somebody else removed. */
export interface Removal {
  readonly from: Offset;
  readonly to: Offset;
  readonly seenAtMs: bigint;
  /** Who still needed some of them, from their floor on; empty when nobody did. */
  readonly needed: readonly Needed[];
}

export interface WatchFacts {
  readonly place: FloorPlace;
  readonly offsets: PartitionOffsets;
  /** As Kafka holds it. */
  readonly mark: Offset;
  /** Of this incarnation; undefined before the first look. */
  readonly watch: LogWatch | undefined;
  readonly look: FloorLook | undefined;
  readonly groups: readonly GroupFloor[];
  readonly states: readonly JobState[];
  /** Jobs that must have a floor here. */
  readonly required: readonly string[];
  /** Whose floor is to hold nothing from now on. */
  readonly toRelease: readonly Overdue[];
  readonly nowMs: number;
}

export interface Sight {
  /** What to be written; undefined when nothing changed. */
  readonly next: Pick<LogWatch, 'firstLogStart' | 'removals' | 'wentBackMark' | 'releases'> | undefined;
  readonly isFirst: boolean;
  /** Seen for the first time. */
  readonly found: Removal | undefined;
  /** Seen before, and its holders still wait for it. */
  readonly lasting: readonly Removal[];
  /** Nothing is cut by a mark up to here. */
  readonly wentBackMark: Offset | undefined;
  /** Of floors, those of before; and those of now, which count when `next` is durable. */
  readonly releases: { readonly before: Releases; readonly now: Releases };
}

export type Releases = LogWatch['releases'];

export function sightOf(facts: WatchFacts): Sight {
  const { watch } = facts;
  const found = foundNow(facts);
  const wentBackMark = facts.mark > facts.offsets.highWatermark ? facts.mark : -1n;
  const before = watch?.wentBackMark ?? -1n;
  const mark = wentBackMark > before ? wentBackMark : before;
  const releases = { before: standingReleases(facts), now: releasesNow(facts) };
  const isChanged = watch === undefined || found !== undefined || mark > before || releases.now.length > 0;
  return {
    next: isChanged
      ? {
          firstLogStart: watch?.firstLogStart ?? seenUpTo(facts) ?? facts.offsets.logStartOffset,
          removals: [...(watch?.removals ?? []), ...(found === undefined ? [] : [recordOf(found)])].slice(
            -REMOVALS_KEPT,
          ),
          wentBackMark: mark,
          releases: [...releases.before, ...releases.now],
        }
      : undefined,
    isFirst: watch === undefined,
    found,
    lasting: (watch?.removals ?? []).map(removalOf).filter((removal) => isWaitedFor(removal, facts)),
    wentBackMark: mark < 0n ? undefined : toOffset(mark),
    releases,
  };
}

function foundNow(facts: WatchFacts): Removal | undefined {
  const { look, required, offsets, nowMs } = facts;
  // Who needs what is not known now; it is found when the store is filled again.
  if (look === undefined && required.length > 0) return undefined;
  const from = seenUpTo(facts) ?? lowestStaying(facts);
  const to = offsets.logStartOffset;
  if (from === undefined || from >= to) return undefined;
  const removal = { from, to, seenAtMs: BigInt(nowMs) };
  return { ...removal, needed: neededOf(facts, removal) };
}

/** Below it all is known to be gone, or was given up; undefined when nobody has ever looked. */
function seenUpTo({ watch, mark, offsets }: WatchFacts): Offset | undefined {
  if (watch === undefined) return mark > 0n ? offsetMin(mark, offsets.logStartOffset) : undefined;
  return [watch.firstLogStart, ...watch.removals.map(({ toOffset: to }) => to)].map(toOffset).reduce(offsetMax, mark);
}

/** A job is accepted only with its whole window in the log, so a floor below the log start proves a removal. */
function lowestStaying({ look, offsets }: WatchFacts): Offset | undefined {
  const lost = stayingOf(look).filter(({ offset }) => offset < offsets.logStartOffset);
  return lost.length === 0 ? undefined : lost.map(({ offset }) => offset).reduce(offsetMin);
}

function stayingOf(look: FloorLook | undefined) {
  return look?.floors.filter(({ reservedUntilMs }) => reservedUntilMs === undefined) ?? [];
}

function neededOf(facts: WatchFacts, { from, to }: Pick<Removal, 'from' | 'to'>): readonly Needed[] {
  const needed: Needed[] = [];
  const add = (holder: string, first: bigint, end: bigint): void => {
    const clipped = { from: offsetMax(toOffset(first), from), to: offsetMin(toOffset(end), to) };
    if (clipped.from < clipped.to) needed.push({ holder, ...clipped });
  };
  const holding = new Set<string>();
  const windows = windowsAt(facts);
  for (const { holder, offset } of stayingOf(facts.look)) {
    holding.add(holder);
    const end = windows.get(jobOfHolder(holder))?.end;
    add(holder, offset, end === undefined ? to : end + 1n);
  }
  // Faster than this look: it found its records gone, and has ended.
  for (const [jobId, { state }] of windows)
    if (!holding.has(jobId) && isTerminal(state.state))
      for (const { partition, first, last } of state.lost)
        if (partition === facts.place.partition) add(jobId, first, last + 1n);
  for (const group of facts.groups) if (group.kind === 'committed') add(holderOf(group), group.offset, to);
  return needed;
}

function windowsAt({
  states,
  place,
}: WatchFacts): ReadonlyMap<string, { readonly state: JobState; readonly end: bigint }> {
  const windows = new Map<string, { state: JobState; end: bigint }>();
  for (const state of states) {
    if (state.pin?.topicId !== place.topicId || state.request.topic !== place.topic) continue;
    const window = state.pin.partitions.find(({ partition }) => partition === place.partition);
    if (window !== undefined) windows.set(state.jobId, { state, end: window.end });
  }
  return windows;
}

function isWaitedFor({ needed }: Removal, { look, groups }: WatchFacts): boolean {
  const offsets = new Map<string, Offset>(stayingOf(look).map(({ holder, offset }) => [holder, offset]));
  for (const group of groups) if (group.kind === 'committed') offsets.set(holderOf(group), group.offset);
  return needed.some(({ holder, to }) => (offsets.get(holder) ?? to) < to);
}

function releasesNow(facts: WatchFacts): Releases {
  const before = new Set(standingReleases(facts).map(({ holder }) => holder));
  return facts.toRelease
    .filter(({ holder }) => !before.has(holder))
    .map(({ holder, floor }) => ({ holder, fromOffset: floor, atMs: BigInt(facts.nowMs) }));
}

/** A job that has ended, or a hold that is over, has no floor any more, and a later one of the same name was not released. */
function standingReleases({ watch, states }: WatchFacts): Releases {
  const releases = watch?.releases ?? [];
  if (releases.length === 0) return releases;
  const jobs = new Map(states.map((state) => [state.jobId, state]));
  return releases.filter(({ holder, atMs }) => {
    const job = jobs.get(jobOfHolder(holder));
    return job?.pin != null && mayHold(holder, job) && job.pin.pinnedAtMs <= atMs;
  });
}

function recordOf({ from, to, seenAtMs, needed }: Removal): LogWatch['removals'][number] {
  return {
    fromOffset: from,
    toOffset: to,
    seenAtMs,
    needed: needed.map((each) => ({ holder: each.holder, fromOffset: each.from, toOffset: each.to })),
  };
}

export function removalOf(record: LogWatch['removals'][number]): Removal {
  return {
    from: toOffset(record.fromOffset),
    to: toOffset(record.toOffset),
    seenAtMs: record.seenAtMs,
    needed: record.needed.map(({ holder, fromOffset, toOffset: to }) => ({
      holder,
      from: toOffset(fromOffset),
      to: toOffset(to),
    })),
  };
}
