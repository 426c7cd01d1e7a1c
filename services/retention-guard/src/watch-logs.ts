/** Looks for what others did to the guarded logs, and remembers it in Kafka, so that it is found once, by whichever guard. */
import type { JobState, LogWatch, SeriesState } from '@tidemark/contracts';
import { type DurableMarks, type MarkSession, markKey, markOf } from '@tidemark/jobs';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { Candidate } from './candidate.ts';
import { requiredAt } from './judgement.ts';
import type { GuardParts } from './parts.ts';
import { toRelease } from './released.ts';
import { type Releases, type Sight, sightOf, type WatchFacts } from './watch.ts';

interface Known {
  readonly durable: DurableMarks;
  readonly states: ReadonlyMap<string, JobState>;
  readonly series: ReadonlyMap<string, SeriesState>;
  /** Else no floor is released by what it says. */
  readonly isStoreFine: boolean;
}

export interface Watched extends Sight {
  /** Durable by now. */
  readonly released: Releases;
}

/** By `markKey`. Throws what keeps it from being written, but for another guard that took its turn: then the next cycle writes it. */
export async function watchLogs(
  parts: GuardParts,
  candidates: readonly Candidate[],
  known: Known,
): Promise<ReadonlyMap<string, Watched>> {
  const nowMs = parts.nowMs();
  const facts = { ...known, states: [...known.states.values()], nowMs };
  const releasing = new Map(
    candidates.map((candidate) => [candidate, known.isStoreFine ? toRelease(parts, candidate, known.states) : []]),
  );
  const lookWith = (durable: DurableMarks): ReadonlyMap<string, Sight> =>
    new Map(
      candidates.map((candidate) => {
        const overdue = releasing.get(candidate) ?? [];
        return [markKey(candidate.place), sightAt(candidate, { ...facts, durable, toRelease: overdue })];
      }),
    );
  const sights = lookWith(known.durable);
  const isNews = [...sights.values()].some(({ next }) => next !== undefined);
  const isDurable = isNews && (await record(parts, candidates, lookWith));
  const releasedOf = ({ releases: { before, now } }: Sight): Releases => (isDurable ? [...before, ...now] : before);
  return new Map([...sights].map(([key, sight]) => [key, { ...sight, released: releasedOf(sight) }]));
}

function sightAt(
  { place, offsets, look, groups }: Candidate,
  known: Omit<Known, 'states' | 'isStoreFine'> & Pick<WatchFacts, 'states' | 'nowMs' | 'toRelease'>,
): Sight {
  const { durable, states, series, nowMs, toRelease: overdue } = known;
  const required = requiredAt(states, place, series.values());
  const watch = durable.watches.get(markKey(place));
  const mark = markOf(durable, place);
  return sightOf({ place, offsets, look, groups, required, watch, mark, states, nowMs, toRelease: overdue });
}

/** False when another guard took its turn. What is written follows from what is read in the same session: nothing that another guard wrote meanwhile gets lost. */
async function record(
  parts: GuardParts,
  candidates: readonly Candidate[],
  lookWith: (durable: DurableMarks) => ReadonlyMap<string, Sight>,
): Promise<boolean> {
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
    return true;
  } catch (error) {
    if (!(error instanceof TidemarkError) || error.class !== ErrorClass.fenced) throw error;
    return false;
  } finally {
    await session?.close().catch(() => undefined);
  }
}
