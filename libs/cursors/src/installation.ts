/** What an install must hold before a store takes it, and where each of its ranges ends. Pure. */
import {
  ErrorClass,
  mergeIntervals,
  type Offset,
  offsetMax,
  offsetMin,
  RANGES_PER_JOB_MAX,
  rangeIdOf,
  sizeOfIntervals,
  TidemarkError,
} from '@tidemark/keyspace';
import { checkParkedWords } from './calls.ts';
import { checkJobId } from './keys.ts';
import { inOffsetOrder } from './parked-order.ts';
import type { JobInstall } from './ports.ts';

export type InstalledRange = JobInstall['ranges'][number] & { readonly rangeId: string; readonly end: Offset };

/**
 * The ranges in their order, each with the end that the store will derive. An open range that has nothing left, and nothing
 * parked, is done: no advance could ever close it. A horizon beyond the end would promise offsets of the next range. An empty window may
 * start beyond its end; its cursor stays at its start.
 */
export function plannedRanges(job: JobInstall): readonly InstalledRange[] {
  checkJobId(job.jobId);
  if (job.epoch < 0n) fail(job, `epoch ${job.epoch} is not the offset of a record`);
  if (job.ranges.length > RANGES_PER_JOB_MAX)
    fail(job, `${job.ranges.length} ranges are more than ${RANGES_PER_JOB_MAX}: split less`);
  const ends = new Map(job.ends.map(({ partition, end }) => [partition, end]));
  const sorted = job.ranges
    .map((range) => ({ ...range, rangeId: rangeIdOf(range) }))
    .sort((a, b) => (a.rangeId < b.rangeId ? -1 : 1));
  return sorted.map((range, index) => {
    const next = sorted[index + 1];
    const pinned = ends.get(range.partition);
    if (pinned === undefined) return fail(job, `partition ${range.partition} has a range but no pinned end`);
    if (next?.rangeId === range.rangeId) fail(job, `range ${range.rangeId} is there twice`);
    const end = next?.partition === range.partition ? next.start : pinned;
    if (range.cursor < range.start || (range.cursor > end && range.cursor > range.start))
      fail(job, `cursor ${range.cursor} of range ${range.rangeId} is outside (${range.start}, ${end}]`);
    if (range.horizon < range.cursor)
      fail(job, `horizon ${range.horizon} of range ${range.rangeId} is below its cursor ${range.cursor}`);
    checkParked(job, range);
    checkPassed(job, range);
    const isOver = range.status === 'open' && range.cursor >= end && range.parked.length === 0;
    const horizon = offsetMax(range.cursor, offsetMin(range.horizon, end));
    const passed = mergeIntervals(range.passed);
    return {
      ...range,
      end,
      horizon,
      passed,
      parked: inOffsetOrder(range.parked),
      status: isOver ? 'done' : range.status,
    };
  });
}

/** The store counts parked records by their counter; one that differs would make the job incomplete at the first look. */
function checkParked(job: JobInstall, range: JobInstall['ranges'][number]): void {
  const { parked, counters, start, cursor, status } = range;
  const where = `range ${rangeIdOf(range)}`;
  if (counters.parked !== BigInt(parked.length))
    fail(job, `${where} has ${parked.length} parked records, but its counters say ${counters.parked}`);
  if (new Set(parked.map(({ offset }) => offset)).size !== parked.length)
    fail(job, `${where} has a record parked twice`);
  if (status === 'done' && parked.length > 0) fail(job, `${where} is done with ${parked.length} parked records`);
  for (const record of parked) {
    if (record.offset <= start || record.offset > cursor)
      fail(job, `record ${record.offset} of ${where} is parked outside (${start}, ${cursor}]`);
    checkParkedWords(record);
  }
}

/** Fewer than counted is right: beyond a limit, and by older versions, lost offsets are counted only. */
function checkPassed(job: JobInstall, range: JobInstall['ranges'][number]): void {
  const { passed, counters, start, cursor } = range;
  const where = `range ${rangeIdOf(range)}`;
  const places = sizeOfIntervals(passed);
  if (places > counters.lost)
    fail(job, `${where} passed ${places} lost offsets, but its counters say ${counters.lost}`);
  if (sizeOfIntervals(mergeIntervals(passed)) !== places) fail(job, `${where} passed an offset twice`);
  for (const { first, last } of passed)
    if (first > last || first <= start || last > cursor)
      fail(job, `offsets ${first} to ${last} of ${where} were passed as lost outside (${start}, ${cursor}]`);
}

/** For an install whose store changed while it was filled: nothing was promised, the caller starts the restore anew. */
export function storeChanged(jobId: string, reason: string): TidemarkError {
  return new TidemarkError({
    code: 'STORE_CHANGED',
    class: ErrorClass.transient,
    message: `The cursor store changed while job ${jobId} was installed (${reason}): ask its incarnation again and install anew.`,
    context: { jobId },
  });
}

function fail(job: JobInstall, message: string): never {
  throw new TidemarkError({
    code: 'BAD_INSTALL',
    class: ErrorClass.bug,
    message: `Job ${job.jobId} cannot be installed: ${message}.`,
    context: { jobId: job.jobId },
  });
}
