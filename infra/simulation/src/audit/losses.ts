/** P7, P10: what is lost is named offset by offset, is gone, and is nothing that its owner had settled. */
import type { JobState } from '@tidemark/contracts';
import type { RangeState } from '@tidemark/cursors';
import { isTerminal } from '@tidemark/jobs';
import { type OffsetInterval, sizeOfIntervals } from '@tidemark/keyspace';
import type { HistoryEvent } from '../history.ts';
import { type JobLedger, jobOf, type Ledger, placeOf } from './ledger.ts';
import { offsets, type Rule, rangeName } from './rule.ts';

type Stored = Extract<HistoryEvent, { kind: 'stored' }>;
type Durable = Extract<HistoryEvent, { kind: 'durable' }>;

export function lossRule(): Rule {
  /** By job, token and place: an owner that settled a record does not lose it. */
  const settled = new Set<string>();
  return {
    *before(event, ledger) {
      if (event.kind === 'stored') yield* notSettled(event, ledger, settled);
    },
    *after(event, ledger) {
      if (event.kind === 'answered')
        settled.add(`${event.jobId}/${event.token}/${placeOf(event.partition, event.offset)}`);
      if (event.kind === 'durable') yield* checkpointed(event, ledger);
      if (event.kind !== 'stored' || event.look === undefined) return;
      const job = ledger.jobs.get(jobOf(event.call));
      for (const range of job === undefined ? [] : event.look.ranges) if (job !== undefined) yield* named(job, range);
    },
    *atEnd(_, ledger) {
      for (const job of ledger.jobs.values())
        if (job.state !== undefined && isTerminal(job.state.state)) yield* ended(job, job.state);
    },
  };
}

/** At every look. */
function* named(job: JobLedger, range: RangeState): Iterable<string> {
  const { partition, start, cursor, counters, passed, parked } = range;
  const name = rangeName(job, range);
  const places = sizeOfIntervals(passed);
  if (places !== counters.lost) yield `P10 ${name} counts ${counters.lost} lost offsets and names ${places}`;
  const logStart = job.logStart(partition);
  for (const { first, last } of passed) {
    if (first <= start || last > cursor)
      yield `P7 ${name} passed ${first}-${last} as lost, and its cursor is ${cursor}`;
    if (last >= logStart) yield `P7 ${name} passed ${first}-${last} as lost, the log begins at ${logStart}`;
    if (parked.some(({ offset }) => first <= offset && offset <= last))
      yield `P7 ${name} passed ${first}-${last} as lost, of which it has parked records`;
  }
}

/** What is passed as lost is what the log no longer showed; what was handled under the same token was read before. */
function* notSettled({ call }: Stored, ledger: Ledger, settled: ReadonlySet<string>): Iterable<string> {
  const isAccepted =
    (call.operation === 'advance' && call.answer?.kind === 'advanced') ||
    (call.operation === 'settle' && call.answer?.kind === 'settled');
  if (!isAccepted) return;
  const { jobId, range, token, passed } = call.request;
  const job = ledger.jobs.get(jobId);
  if (job === undefined) return;
  for (const offset of offsetsIn(passed))
    if (settled.has(`${jobId}/${token}/${placeOf(range.partition, offset)}`))
      yield `P7 ${rangeName(job, range)} passed ${offset} as lost, which its owner had settled`;
}

/** What a restore starts from names no less than it counts. */
function* checkpointed({ checkpoints }: Durable, ledger: Ledger): Iterable<string> {
  for (const checkpoint of checkpoints) {
    const job = ledger.jobs.get(checkpoint.jobId);
    const places = sizeOfIntervals(checkpoint.passed);
    if (job !== undefined && places !== checkpoint.counters.lost)
      yield `P8 the checkpoint of ${rangeName(job, checkpoint)} counts ${checkpoint.counters.lost} lost offsets and names ${places}`;
  }
}

/** The result names every record that nobody settled, and as many offsets as it counts. */
function* ended(job: JobLedger, { jobId, state, lost, totals }: JobState): Iterable<string> {
  if (totals === null) return;
  if (sizeOfIntervals(lost) !== totals.lost)
    yield `P10 ${jobId} counts ${totals.lost} lost offsets and names ${sizeOfIntervals(lost)}`;
  if (state !== 'COMPLETED') return;
  const places = new Set(
    lost.flatMap((interval) => [...offsetsIn([interval])].map((at) => placeOf(interval.partition, at))),
  );
  for (const { partition, start, end } of job.windows)
    for (const offset of offsets(start, end)) {
      const place = placeOf(partition, offset);
      if (!job.isRecord(partition, offset) || job.isFiltered(partition, offset) || job.settled.has(place)) continue;
      if (!places.has(place)) yield `P7 ${jobId} ${place} was neither settled nor named as lost`;
    }
}

function* offsetsIn(intervals: readonly OffsetInterval[]): Iterable<bigint> {
  for (const { first, last } of intervals) yield* offsets(first - 1n, last);
}
