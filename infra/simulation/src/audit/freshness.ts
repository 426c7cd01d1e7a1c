/**
 * P8: a lost store costs at most the last checkpoint interval. Judged where the distributor had a fair chance: links that do not
 * fail, and neither it nor the store disturbed for a while.
 */
import { rangeIdOf } from '@tidemark/keyspace';
import type { HistoryEvent } from '../history.ts';
import { type JobLedger, jobOf, type Ledger } from './ledger.ts';
import type { Rule } from './rule.ts';

/** The interval of a second, twice for the round that is under way, and a little for the calls in it. */
const AGE_MS_MAX = 2_500;
/** A distributor that was started, or lost its store, has filled it and caught up by then. */
const FILLED_MS = 3_000;

interface Version {
  readonly atMs: number;
  readonly version: bigint;
}

export function freshnessRule(linksAreGood: boolean): Rule {
  const versions = new Map<string, Version[]>();
  const runningSinceMs = new Map<string, number>();
  let fairFromMs = FILLED_MS;
  return {
    *before(event, ledger) {
      if (event.kind === 'store lost') {
        if (linksAreGood && event.atMs > fairFromMs)
          for (const job of ledger.jobs.values())
            if (event.atMs - (runningSinceMs.get(job.facts.jobId) ?? event.atMs) > AGE_MS_MAX)
              yield* fresh(job, event.atMs - AGE_MS_MAX, versions);
        versions.clear();
      }
      if (event.kind === 'store lost') fairFromMs = Math.max(fairFromMs, event.atMs + FILLED_MS);
      if (event.kind !== 'process' || !event.by.startsWith('distributor')) return;
      // Who is gone, stood still or was replaced has no fair chance any more, nor has whoever comes after him.
      fairFromMs = event.what === 'started' ? Math.max(fairFromMs, event.atMs + FILLED_MS) : Number.POSITIVE_INFINITY;
    },
    after(event, ledger) {
      if (event.kind === 'stored') noteVersions(event, ledger, versions);
      if (event.kind === 'durable')
        for (const { jobId, state } of event.states) {
          if (state !== 'RUNNING') runningSinceMs.delete(jobId);
          else if (!runningSinceMs.has(jobId)) runningSinceMs.set(jobId, event.atMs);
        }
      return [];
    },
  };
}

function noteVersions(
  { atMs, call, look }: Extract<HistoryEvent, { kind: 'stored' }>,
  ledger: Ledger,
  versions: Map<string, Version[]>,
): void {
  const job = ledger.jobs.get(jobOf(call));
  for (const range of job === undefined ? [] : (look?.ranges ?? [])) {
    const key = `${jobOf(call)}/${rangeIdOf(range)}`;
    const known = versions.get(key) ?? [];
    if (known.at(-1)?.version !== range.version) known.push({ atMs, version: range.version });
    versions.set(key, known);
  }
}

function* fresh(job: JobLedger, asOfMs: number, versions: ReadonlyMap<string, readonly Version[]>): Iterable<string> {
  const { jobId } = job.facts;
  // While a suspension lets chunks settle, checkpoints wait for its decision.
  if (job.look?.mode !== 'running') return;
  for (const range of job.look.ranges) {
    const rangeId = rangeIdOf(range);
    const then = versions.get(`${jobId}/${rangeId}`)?.findLast(({ atMs }) => atMs <= asOfMs);
    const durable = job.checkpoints.get(rangeId)?.version ?? -1n;
    if (then !== undefined && durable < then.version)
      yield `P8 the checkpoint of ${jobId} ${rangeId} is version ${durable} when the store is lost, ${then.version} was there ${AGE_MS_MAX} ms before`;
  }
}
