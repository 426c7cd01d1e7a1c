/** P4, P8: what the cursor passes is settled or parked, it never goes back, and a restore loses nothing acknowledged. */
import type { RangeState } from '@tidemark/cursors';
import { rangeIdOf } from '@tidemark/keyspace';
import { type JobLedger, jobOf } from './ledger.ts';
import { offsets, type Rule, rangeName } from './rule.ts';

interface Seen {
  readonly filling: number;
  readonly range: RangeState;
}

export function cursorRule(): Rule {
  const seen = new Map<string, Seen>();
  return {
    *before(event, ledger) {
      if (event.kind !== 'stored' || event.call.operation !== 'install' || event.call.answer?.kind !== 'installed')
        return;
      const { by, call } = event;
      const job = ledger.jobs.get(call.request.jobId);
      // Under an epoch that the store has already it changes nothing.
      if (job === undefined || job.look?.epoch === call.request.epoch) return;
      // One that was replaced, and does not know it, may fill in an older copy: until the youngest fills in its own.
      if (by === ledger.youngest) yield* nothingLost(job, call.request.ranges);
    },
    *after(event, ledger) {
      if (event.kind !== 'stored' || event.look === undefined) return;
      const job = ledger.jobs.get(jobOf(event.call));
      if (job === undefined) return;
      for (const range of event.look.ranges) {
        const key = `${job.facts.jobId}/${rangeIdOf(range)}`;
        const last = seen.get(key);
        const before = last?.filling === job.filling ? last.range : undefined;
        if (before?.version === range.version && before.end === range.end) continue;
        seen.set(key, { filling: job.filling, range });
        yield* moved(job, before, range);
      }
    },
  };
}

/** A restore may go back to the last acknowledged checkpoint, and no further. */
function* nothingLost(
  job: JobLedger,
  ranges: readonly Pick<RangeState, 'partition' | 'start' | 'cursor' | 'parked'>[],
): Iterable<string> {
  const filled = new Map(ranges.map((range) => [rangeIdOf(range), range]));
  for (const [rangeId, checkpoint] of job.checkpoints) {
    const range = filled.get(rangeId);
    if (range === undefined) yield `P8 ${job.facts.jobId} is filled in without its range ${rangeId}`;
    else if (range.cursor < checkpoint.cursor)
      yield `P8 ${rangeName(job, range)} is filled in at ${range.cursor}, its checkpoint is at ${checkpoint.cursor}`;
  }
}

function* moved(job: JobLedger, before: RangeState | undefined, range: RangeState): Iterable<string> {
  const { partition, cursor } = range;
  const name = rangeName(job, range);
  if (before !== undefined && cursor < before.cursor)
    yield `P4 the cursor of ${name} went back from ${before.cursor} to ${cursor}`;
  if (before !== undefined && range.version < before.version) yield `P4 ${name} went back in version`;
  if (before !== undefined && before.status !== 'open' && range.status !== before.status)
    yield `P4 ${name} was ${before.status} and is ${range.status}`;
  const parked = new Set(range.parked.map(({ offset }) => offset as bigint));
  for (const offset of offsets(before?.cursor ?? range.start, cursor)) {
    if (!parked.has(offset) && !job.isOver(partition, offset))
      yield `P4 the cursor of ${name} passed ${offset}, which is neither settled nor parked`;
  }
  for (const { offset } of before?.parked ?? []) {
    if (!parked.has(offset) && !job.isOver(partition, offset))
      yield `P4 ${name} parks ${offset} no more, and it is not settled`;
  }
}
