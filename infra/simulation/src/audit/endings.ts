/** P2, P7, P10 at the end: every job has an end with a name, every record its outcome, and the numbers are those of the log. */
import type { JobState } from '@tidemark/contracts';
import { isTerminal } from '@tidemark/jobs';
import { explainedOffsets } from '@tidemark/keyspace';
import type { Fate } from '../history.ts';
import { type JobLedger, type Ledger, placeOf } from './ledger.ts';
import { offsets, type Rule } from './rule.ts';

const REFUSALS = /^(RETENTION_WAS_FASTER|LOG_BEING_CUT|TOPIC_UNAVAILABLE)/;

export function endingRule(): Rule {
  return {
    *after(event) {
      if (event.kind === 'process' && event.what === 'failed') yield `${event.by} failed: ${event.why}`;
    },
    *atEnd(history, ledger) {
      for (const job of ledger.jobs.values()) {
        const { state } = job;
        if (state === undefined || !isTerminal(state.state))
          yield `${job.facts.jobId} came to no end (${history.ended}): ${state?.state ?? 'unknown'} ${state?.reason ?? ''}`;
        else yield* ended(job, state, ledger);
      }
    },
  };
}

function* ended(job: JobLedger, state: JobState, ledger: Ledger): Iterable<string> {
  const { jobId, topic } = job.facts;
  const isCut = ledger.cutByStrangers.has(topic);
  switch (state.state) {
    case 'COMPLETED':
      yield* completed(job, state, isCut);
      break;
    case 'UNRECOVERABLE':
      if (!isCut) yield `P7 ${jobId} is UNRECOVERABLE, and nobody else cut its topic: ${state.reason}`;
      break;
    case 'REFUSED':
      if (!REFUSALS.test(state.reason)) yield `${jobId} was refused: ${state.reason}`;
      break;
    default:
      break;
  }
  if (!isCut && (state.lost.length > 0 || (state.totals?.lost ?? 0n) > 0n))
    yield `P7 ${jobId} lost records, and nobody else cut its topic`;
  for (const { partition, first, last } of state.lost)
    if (last >= job.logStart(partition))
      yield `P7 ${jobId} says that ${partition}:${first}-${last} is lost, the log begins at ${job.logStart(partition)}`;
  if (state.totals !== null) yield* sums(job, state, state.totals);
}

/** What the cursors passed is what the counters explain, beside what was lost and not passed. */
function* sums(job: JobLedger, state: JobState, totals: NonNullable<JobState['totals']>): Iterable<string> {
  const ranges = [...job.checkpoints.values()];
  const passed = ranges.reduce((sum, { cursor, start }) => sum + (cursor - start), 0n);
  const notPassed = ranges
    .flatMap(({ cursor, lost }) => lost.filter(({ first }) => first > cursor))
    .reduce((sum, { first, last }) => sum + (last - first + 1n), 0n);
  const explained = explainedOffsets({ ...totals }) - notPassed;
  if (explained !== passed) yield `P10 ${state.jobId} passed ${passed} offsets, its totals explain ${explained}`;
}

function* completed(job: JobLedger, state: JobState, isCut: boolean): Iterable<string> {
  const { jobId } = job.facts;
  const totals = state.totals;
  if (totals === null) {
    yield `P10 ${jobId} is COMPLETED without totals`;
    return;
  }
  if (totals.parked !== 0n) yield `P10 ${jobId} is COMPLETED with ${totals.parked} parked records`;
  const counted = { done: 0n, skip: 0n, 'dead letter': 0n, hole: 0n, filtered: 0n };
  let span = 0n;
  for (const { partition, start, end } of job.windows) {
    span += end - start;
    for (const offset of offsets(start, end)) {
      if (!job.isRecord(partition, offset)) {
        counted.hole += 1n;
        continue;
      }
      if (job.isFiltered(partition, offset)) {
        counted.filtered += 1n;
        continue;
      }
      const fate = job.facts.fateOf(partition, offset);
      counted[fate] += 1n;
      yield* settledAs(job, { partition, offset, fate });
    }
  }
  if (explainedOffsets({ ...totals }) !== span)
    yield `P10 ${jobId} covers ${span} offsets, its totals explain ${explainedOffsets({ ...totals })}`;
  if (isCut) return;
  const stated = {
    done: totals.ok,
    skip: totals.skipped,
    'dead letter': totals.deadLettered,
    hole: totals.markers + totals.compacted,
    filtered: totals.filtered,
  };
  for (const name of ['done', 'skip', 'dead letter', 'hole', 'filtered'] as const)
    if (stated[name] !== counted[name])
      yield `P10 ${jobId} counts ${stated[name]} ${name}, in the log there are ${counted[name]}`;
}

function* settledAs(
  job: JobLedger,
  { partition, offset, fate }: { readonly partition: number; readonly offset: bigint; readonly fate: Fate },
): Iterable<string> {
  const settled = job.settled.get(placeOf(partition, offset));
  const name = `${job.facts.jobId} ${placeOf(partition, offset)}`;
  if (settled === undefined && offset >= job.logStart(partition))
    yield `P1 ${name} was never settled, and the job is COMPLETED`;
  if (settled !== undefined && settled !== fate) yield `P10 ${name} came to ${settled}, it must be ${fate}`;
}
