/** P7: a floor is never ahead of what its job still needs, and nothing is cut above one. */
import type { HistoryEvent } from '../history.ts';
import type { JobLedger, Ledger } from './ledger.ts';
import type { Rule } from './rule.ts';

export function floorRule(): Rule {
  return {
    *after(event, ledger) {
      if (event.kind === 'floors') yield* floorsBehind(event, ledger);
      if (event.kind === 'durable') yield* accepted(event, ledger);
    },
    *before(event, ledger) {
      if (event.kind !== 'cut' || event.who !== 'guard') return;
      for (const job of ledger.jobs.values()) {
        if (job.facts.topic !== event.topic || !job.isPromised) continue;
        for (const [who, needed] of needsOf(job, event.partition))
          if (event.before > needed)
            yield `P7 cut below ${event.before} in ${event.topic}/${event.partition}, ${who} of ${job.facts.jobId} needs ${needed}`;
      }
    },
  };
}

function* floorsBehind({ place, look }: Extract<HistoryEvent, { kind: 'floors' }>, ledger: Ledger): Iterable<string> {
  for (const { holder, offset, reservedUntilMs } of look?.floors ?? []) {
    const job = ledger.jobs.get(holder);
    if (job === undefined || reservedUntilMs !== undefined || !job.isPromised) continue;
    for (const [who, needed] of needsOf(job, place.partition))
      if (offset > needed)
        yield `P7 the floor of ${holder} in partition ${place.partition} is ${offset}, ${who} needs ${needed}`;
  }
}

/** When a job is accepted, its whole window is still there, unless somebody else cut it. */
function* accepted({ states }: Extract<HistoryEvent, { kind: 'durable' }>, ledger: Ledger): Iterable<string> {
  for (const { jobId, state } of states) {
    const job = ledger.jobs.get(jobId);
    if (job === undefined || state !== 'RUNNING' || ledger.cutByStrangers.has(job.facts.topic)) continue;
    for (const { partition } of job.windows) {
      const needed = job.neededByRestore(partition);
      if (needed !== undefined && job.logStart(partition) > needed)
        yield `P7 ${jobId} runs from ${needed} on in partition ${partition}, the log begins at ${job.logStart(partition)}`;
    }
  }
}

function* needsOf(job: JobLedger, partition: number): Iterable<readonly [string, bigint]> {
  const byRestore = job.neededByRestore(partition);
  if (byRestore !== undefined) yield ['a restore', byRestore];
  const byStore = job.neededByStore(partition);
  if (byStore !== undefined) yield ['the store', byStore];
}
