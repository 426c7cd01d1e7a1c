/** Who holds which range, as the store itself has it, and how long a range waits for its next owner. */
import { setTimeout as delay } from 'node:timers/promises';
import type { CursorStore, FencingToken } from '@tidemark/cursors';
import { type RangeRef, rangeIdOf } from '@tidemark/keyspace';
import { CHUNK_RECORDS, LEASE_TTL_MS, LOOK_EVERY_MS, SLOTS, TAKEOVER_WAIT_MAX_MS } from './limits.ts';
import { Mode } from './misbehaviour.ts';
import type { Scene } from './scene.ts';

interface SeenRange {
  readonly jobId: string;
  readonly range: RangeRef;
  readonly token: FencingToken;
  /** Undefined when nobody holds it. */
  readonly pid: number | undefined;
}

export interface HeldRange extends SeenRange {
  readonly pid: number;
}

/** Of all open jobs; a store that does not answer holds nothing. */
export async function heldRanges(scene: Pick<Scene, 'store' | 'desk'>): Promise<readonly HeldRange[]> {
  return (await openRanges(scene)).flatMap(({ pid, ...range }) => (pid === undefined ? [] : [{ ...range, pid }]));
}

async function openRanges({ store, desk }: Pick<Scene, 'store' | 'desk'>): Promise<readonly SeenRange[]> {
  const looks = await Promise.all(
    desk.openJobs().map(async (jobId) => ({ jobId, ranges: await rangesOf(store, jobId) })),
  );
  return looks.flatMap(({ jobId, ranges }) =>
    (ranges ?? []).map((range) => ({
      jobId,
      range,
      token: range.token,
      pid: range.status === 'open' ? pidOf(range.owner) : undefined,
    })),
  );
}

/** Notes down what a fault may make the workers deliver again: the chunks that are in hand for these ranges. */
export function noteInHand({ desk, notes }: Pick<Scene, 'desk' | 'notes'>, held: readonly HeldRange[]): void {
  const modes = new Map(desk.asked.map(({ jobId, mode }) => [jobId, mode]));
  for (const { jobId } of held) {
    const mode = modes.get(jobId);
    notes.inHand.push({ chunkRecords: CHUNK_RECORDS, mayPark: mode !== undefined && mode !== Mode.slow });
  }
}

/**
 * Milliseconds since `sinceMs` (monotonic) until each of the ranges was granted again, without those in which every slot
 * that is left was busy: then a range waits for its turn and not for the end of a lease. One whose job ends first needed none.
 */
export async function awaitTakeovers(
  scene: Pick<Scene, 'store' | 'desk' | 'fleet'>,
  lost: readonly HeldRange[],
  sinceMs: number,
): Promise<readonly number[]> {
  const waiting = new Map(lost.map((range) => [keyOf(range), range]));
  const victims = new Set(lost.map(({ pid }) => pid));
  const takenMs: number[] = [];
  let busyMs = 0;
  let lookedMs = performance.now();
  while (waiting.size > 0 && performance.now() - sinceMs < TAKEOVER_WAIT_MAX_MS) {
    const ranges = await openRanges(scene);
    const nowMs = performance.now();
    // Before that its lease may hold, and a busy slot delays nothing.
    const isFree = nowMs - sinceMs > LEASE_TTL_MS;
    if (isFree && freeSlots(scene, ranges, victims) <= 0) busyMs += nowMs - lookedMs;
    lookedMs = nowMs;
    const open = new Set(scene.desk.openJobs());
    for (const [key, range] of waiting) {
      if (!open.has(range.jobId)) waiting.delete(key);
    }
    for (const range of ranges) {
      const before = waiting.get(keyOf(range));
      if (before === undefined || before.token === range.token) continue;
      waiting.delete(keyOf(range));
      takenMs.push(Math.round(nowMs - sinceMs - busyMs));
    }
    await delay(LOOK_EVERY_MS);
  }
  return [...takenMs, ...[...waiting].map(() => Math.round(performance.now() - sinceMs - busyMs))];
}

function freeSlots(
  { fleet }: Pick<Scene, 'fleet'>,
  ranges: readonly SeenRange[],
  victims: ReadonlySet<number>,
): number {
  const left = new Set(
    fleet.members('worker').flatMap(({ program }) => (victims.has(program.pid) ? [] : [program.pid])),
  );
  const busy = ranges.filter(({ pid }) => pid !== undefined && left.has(pid)).length;
  return left.size * SLOTS - busy;
}

function keyOf({ jobId, range }: Pick<SeenRange, 'jobId' | 'range'>): string {
  return `${jobId}/${rangeIdOf(range)}`;
}

async function rangesOf(store: CursorStore, jobId: string) {
  try {
    return (await store.snapshot(jobId))?.ranges;
  } catch {
    return undefined;
  }
}

/** Slots are named `<host>-<pid>-<random>/<slot>`. */
function pidOf(owner: string): number | undefined {
  const found = /-(\d+)-[0-9a-f]+\/\d+$/.exec(owner)?.[1];
  return found === undefined ? undefined : Number(found);
}
