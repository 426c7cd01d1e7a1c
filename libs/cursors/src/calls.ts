/** What every store checks of a call before it looks at a range. A fault here is a bug of the caller, never a verdict. */
import {
  COUNTER_NAMES,
  ErrorClass,
  explainedOffsets,
  type RangeCounters,
  sizeOfIntervals,
  TidemarkError,
} from '@tidemark/keyspace';
import { checkJobId } from './keys.ts';
import {
  HURRIED_MAX,
  HURRY_TTL_MS_MAX,
  LEASE_TTL_MS_MAX,
  NOTE_CHARACTERS_MAX,
  RELEASE_DELAY_MS_MAX,
  RESERVATION_TTL_MS_MAX,
} from './limits.ts';
import type { CursorStore, LostInterval, ParkedRecord, Parking } from './ports.ts';

const FAULT_CLASS = /^[a-z][a-z0-9-]{0,31}$/;
const KEY_HASH = /^([0-9a-f]{16})?$/;

/**
 * Every offset that the cursor passes is explained by exactly one counter; checked here, at the one place where both move,
 * because a total that is off by one at the end of a billion events says nothing about where.
 */
export function checkAdvance(request: Parameters<CursorStore['advance']>[0]): void {
  const { add, from, to, park, passed } = request;
  checkRising(add, COUNTER_NAMES);
  const explained = explainedOffsets(add);
  if (to > from && explained !== to - from)
    fail(`the cursor would pass ${to - from} offsets (${from} to ${to}), but the counters explain ${explained}`);
  if (add.parked !== BigInt(park.length))
    fail(`${park.length} records would be parked, but the counters say ${add.parked}`);
  for (const { offset } of park)
    if (offset <= from || offset > to) fail(`record ${offset} would be parked outside (${from}, ${to}]`);
  checkDistinct(park.map(({ offset }) => offset));
  for (const parking of park) checkParking(parking);
  checkPassed(passed, add.lost);
  for (const { first, last } of passed)
    if (first <= from || last > to)
      fail(`offsets ${first} to ${last} would be passed as lost outside (${from}, ${to}]`);
  checkTtl(request.leaseTtlMs);
}

/** What leaves the parked set is explained by other counters, and by as much. */
export function checkSettle(request: Parameters<CursorStore['settle']>[0]): void {
  const { add, settled, again, passed } = request;
  checkRising(
    add,
    COUNTER_NAMES.filter((name) => name !== 'parked'),
  );
  const sum = explainedOffsets(add);
  if (sum !== 0n) fail(`settling moves no cursor, but the counters explain ${sum} offsets`);
  if (add.parked !== -BigInt(settled.length))
    fail(`${settled.length} records would be settled, but the counters say ${-add.parked}`);
  checkDistinct([...settled, ...again.map(({ offset }) => offset)]);
  for (const parking of again) checkParking(parking);
  checkPassed(passed, add.lost);
  const known = new Set<bigint>(settled);
  for (const { first, last } of passed)
    for (let offset: bigint = first; offset <= last; offset++)
      if (!known.has(offset)) fail(`record ${offset} would be lost, but is not among those that are settled`);
  checkTtl(request.leaseTtlMs);
}

function checkRising(add: RangeCounters, names: readonly (keyof RangeCounters)[]): void {
  for (const name of names) if (add[name] < 0n) fail(`counter ${name} would fall by ${-add[name]}`);
}

/** The sum comes first: it bounds how many offsets anybody looks at one by one. */
function checkPassed(passed: readonly LostInterval[], lost: bigint): void {
  const places = sizeOfIntervals(passed);
  if (places !== lost) fail(`the lost intervals hold ${places} offsets, but the counters say ${lost}`);
  let before: bigint | undefined;
  for (const { first, last } of passed) {
    if (last < first || (before !== undefined && first <= before))
      fail(`the lost intervals are out of order at ${first} to ${last}`);
    before = last;
  }
}

function checkDistinct(offsets: readonly bigint[]): void {
  const seen = new Set<bigint>();
  for (const offset of offsets) {
    if (seen.has(offset)) fail(`record ${offset} is named twice`);
    seen.add(offset);
  }
}

function checkParking({ offset, attempt, delayMs, faultClass, keyHash }: Parking): void {
  if (!Number.isInteger(attempt) || attempt < 0) fail(`record ${offset} would be parked after ${attempt} attempts`);
  checkDelay(delayMs);
  checkParkedWords({ offset, faultClass, keyHash });
}

/** They are kept as words of one text. */
export function checkParkedWords(record: Pick<ParkedRecord, 'offset' | 'faultClass' | 'keyHash'>): void {
  const { offset, faultClass, keyHash } = record;
  if (!FAULT_CLASS.test(faultClass)) fail(`record ${offset} has no fault class: ${JSON.stringify(faultClass)}`);
  if (!KEY_HASH.test(keyHash)) fail(`record ${offset} has no key hash of 16 hex digits: ${JSON.stringify(keyHash)}`);
}

export function checkTtl(leaseTtlMs: number): void {
  checkDuration('leaseTtlMs', leaseTtlMs, LEASE_TTL_MS_MAX);
}

export function checkHurry({ jobIds, ttlMs }: { readonly jobIds: readonly string[]; readonly ttlMs: number }): void {
  checkDuration('ttlMs', ttlMs, HURRY_TTL_MS_MAX);
  if (jobIds.length > HURRIED_MAX) fail(`${jobIds.length} jobs cannot hurry at once, ${HURRIED_MAX} can`);
  for (const jobId of jobIds) checkJobId(jobId);
}

/** The global set of permits names its members by job and slot, separated by a space, which no job id has. */
export function permitOf(request: { readonly jobId: string; readonly slot: string }): string {
  return `${request.jobId} ${request.slot}`;
}

export function checkDelay(delayMs: number): void {
  checkDuration('delayMs', delayMs, RELEASE_DELAY_MS_MAX);
}

export function checkReservationTtl(ttlMs: number): void {
  checkDuration('ttlMs', ttlMs, RESERVATION_TTL_MS_MAX);
}

/** How many of at most `max` are wanted; a caller without a sensible wish gets none. */
export function boundedLimit(limit: number, max: number): number {
  return Math.max(0, Math.min(Math.floor(limit) || 0, max));
}

export function boundedNote(note: string): string {
  return note.length <= NOTE_CHARACTERS_MAX ? note : `${note.slice(0, NOTE_CHARACTERS_MAX - 1)}…`;
}

function checkDuration(name: string, valueMs: number, maxMs: number): void {
  if (!Number.isInteger(valueMs) || valueMs < 0 || valueMs > maxMs)
    fail(`${name} must be a whole number of milliseconds from 0 to ${maxMs}, not ${valueMs}`);
}

function fail(message: string): never {
  throw new TidemarkError({ code: 'BAD_CURSOR_CALL', class: ErrorClass.bug, message });
}
