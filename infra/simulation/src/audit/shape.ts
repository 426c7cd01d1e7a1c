/** P5, P10: at every look the ranges tile the window, and their numbers add up. */
import type { RangeState } from '@tidemark/cursors';
import { explainedOffsets } from '@tidemark/keyspace';
import type { HistoryEvent } from '../history.ts';
import { type JobLedger, jobOf, type Ledger } from './ledger.ts';
import { offsets, type Rule, rangeName } from './rule.ts';

type Durable = Extract<HistoryEvent, { kind: 'durable' }>;

export function shapeRule(): Rule {
  return {
    *after(event, ledger) {
      if (event.kind === 'durable') yield* restorable(event, ledger);
      if (event.kind !== 'stored' || event.look === undefined) return;
      const job = ledger.jobs.get(jobOf(event.call));
      if (job === undefined) return;
      yield* tiling(job, event.look.ranges);
      for (const range of event.look.ranges) yield* numbers(job, range);
    },
  };
}

/** P8: at any moment the durable ranges of a job are such that a restore from them loses nothing. */
function* restorable({ checkpoints }: Durable, ledger: Ledger): Iterable<string> {
  for (const jobId of new Set(checkpoints.map((each) => each.jobId))) {
    const job = ledger.jobs.get(jobId);
    if (job === undefined) continue;
    for (const { partition, start } of job.windows) {
      const ranges = job.restorable(partition);
      if (ranges.length > 0 && ranges[0]?.start !== start)
        yield `P8 the checkpoints of ${jobId} in partition ${partition} begin at ${ranges[0]?.start}`;
      for (const range of ranges) {
        const { cursor, end, status, parked } = range;
        if (cursor > end) yield `P8 the checkpoint of ${rangeName(job, range)} is at ${cursor}, beyond its end ${end}`;
        if (status === 'done' && (cursor !== end || parked.length > 0))
          yield `P8 the checkpoint of ${rangeName(job, range)} is done at ${cursor}, its end is ${end}, with ${parked.length} parked`;
      }
    }
  }
}

function* tiling(job: JobLedger, ranges: readonly RangeState[]): Iterable<string> {
  for (const window of job.windows) {
    let at = window.start;
    const own = ranges
      .filter(({ partition }) => partition === window.partition)
      .sort((a, b) => (a.start < b.start ? -1 : 1));
    for (const range of own) {
      if (range.start !== at) yield `P5 ${rangeName(job, range)} does not begin where the one before ends, at ${at}`;
      at = range.end;
    }
    if (at !== window.end)
      yield `P5 the ranges of ${job.facts.jobId} in partition ${window.partition} end at ${at}, not at ${window.end}`;
  }
}

function* numbers(job: JobLedger, range: RangeState): Iterable<string> {
  const { start, cursor, horizon, end, counters, parked } = range;
  const name = rangeName(job, range);
  if (!(start <= cursor && cursor <= horizon && horizon <= end))
    yield `P4 ${name} has start ${start}, cursor ${cursor}, horizon ${horizon}, end ${end}`;
  const explained = explainedOffsets(counters);
  if (explained !== cursor - start) yield `P10 ${name} passed ${cursor - start} offsets and counts ${explained}`;
  if (counters.parked !== BigInt(parked.length))
    yield `P10 ${name} has ${parked.length} parked records and counts ${counters.parked}`;
  if (parked.some(({ offset }) => offset <= start || offset > cursor))
    yield `P4 ${name} has parked what its cursor has not passed`;
  if (range.status === 'done' && (cursor !== end || parked.length > 0))
    yield `P4 ${name} is done at ${cursor} of ${end} with ${parked.length} parked`;
  yield* handedOut(job, range);
}

/** P4: a crash repeats at most the chunk in flight, so no more than a chunk may be handed out beyond the cursor. */
function* handedOut(job: JobLedger, range: RangeState): Iterable<string> {
  const { partition, cursor, horizon } = range;
  if (horizon - cursor <= BigInt(job.facts.chunkRecords)) return;
  const logStart = job.logStart(partition);
  let records = 0;
  for (const offset of offsets(cursor, horizon))
    if (offset >= logStart && job.isRecord(partition, offset)) records += 1;
  if (records > job.facts.chunkRecords)
    yield `P4 ${rangeName(job, range)} has handed out ${records} records beyond its cursor ${cursor}, a chunk has ${job.facts.chunkRecords}`;
}
