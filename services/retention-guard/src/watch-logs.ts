/** Looks for what others did to the guarded logs, and remembers it in Kafka, so that it is found once, by whichever guard. */
import type { JobState, LogWatch, SeriesState } from '@tidemark/contracts';
import { type DurableMarks, type MarkSession, markKey, markOf } from '@tidemark/jobs';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { Candidate } from './candidate.ts';
import { requiredAt } from './judgement.ts';
import type { GuardParts } from './parts.ts';
import { type Sight, sightOf } from './watch.ts';

interface Known {
  readonly durable: DurableMarks;
  readonly states: ReadonlyMap<string, JobState>;
  readonly series: ReadonlyMap<string, SeriesState>;
}

/** By `markKey`. Throws what keeps it from being written, but for another guard that took its turn: then the next cycle writes it. */
export async function watchLogs(
  parts: GuardParts,
  candidates: readonly Candidate[],
  known: Known,
): Promise<ReadonlyMap<string, Sight>> {
  const nowMs = parts.nowMs();
  const lookWith = (durable: DurableMarks): ReadonlyMap<string, Sight> =>
    new Map(
      candidates.map((candidate) => [markKey(candidate.place), sightAt(candidate, { ...known, durable, nowMs })]),
    );
  const sights = lookWith(known.durable);
  if ([...sights.values()].some(({ next }) => next !== undefined)) await record(parts, candidates, lookWith);
  return sights;
}

function sightAt({ place, offsets, look, groups }: Candidate, known: Known & { readonly nowMs: number }): Sight {
  const { durable, states, series, nowMs } = known;
  const required = requiredAt(states.values(), place, series.values());
  const watch = durable.watches.get(markKey(place));
  const facts = { place, offsets, look, groups, required, watch, nowMs, mark: markOf(durable, place) };
  return sightOf({ ...facts, states: states.values() });
}

/** What is written follows from what is read in the same session: nothing that another guard wrote meanwhile gets lost. */
async function record(
  parts: GuardParts,
  candidates: readonly Candidate[],
  lookWith: (durable: DurableMarks) => ReadonlyMap<string, Sight>,
): Promise<void> {
  let session: MarkSession | undefined;
  try {
    session = await parts.marks.openSession();
    const sights = lookWith(await parts.marks.load());
    const watches: LogWatch[] = [];
    for (const { place } of candidates) {
      const next = sights.get(markKey(place))?.next;
      const by = { guard: parts.name, atMs: BigInt(parts.nowMs()) };
      if (next !== undefined) watches.push({ formatVersion: 1, ...place, ...next, ...by });
    }
    if (watches.length > 0) await session.watch(watches);
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.class !== ErrorClass.fenced) throw error;
  } finally {
    await session?.close().catch(() => undefined);
  }
}
