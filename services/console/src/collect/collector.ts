/**
 * The one place that asks the services. A round looks at everything once; while somebody watches there is a round a
 * second, whatever the number of watchers, and otherwise only when somebody asks (a scrape, a probe, an API call).
 *
 *   jobs and series --> cursors and workers --> log ends --> ages of the oldest records --> floors
 *                   --> topics of dead letters
 *   relay position --> outbox                           registry
 *
 * Each arrow needs what is left of it; each look stands for itself, so a service that hangs makes its own part unknown
 * and no other.
 */
import type { RelayPosition } from '@tidemark/contracts';
import { newestRelayPosition, type OutboxView, viewOutbox } from '@tidemark/control';
import { describeError, ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import type { Logger } from '@tidemark/observability';
import {
  FRESH_MS,
  FRESH_WAIT_MS,
  LETTER_TOPICS_EVERY_MS,
  LOOK_WAIT_MS,
  REGISTRY_EVERY_MS,
  ROUND_MS,
  STALE_AFTER_MS,
} from '../limits.ts';
import { type Ages, createAgeLooker } from './ages.ts';
import { createFeed, type Feed, type Known, knownValue, mapKnown, neededValue } from './feed.ts';
import { type Floors, lookAtFloors } from './floors.ts';
import { createJobStates, type JobStates, type SeriesStates } from './job-states.ts';
import { type LetterTopics, lookAtLetterTopics } from './letter-topics.ts';
import { type LogEnds, lookAtEnds } from './log-ends.ts';
import { createPaces, type Paces } from './paces.ts';
import type { ConsoleParts } from './parts.ts';
import { seriesPlaces, seriesTopics } from './series-places.ts';
import { type Tracks, tracksOf } from './tracks.ts';
import { lookAtWork, type Work } from './work.ts';

export type OutboxFacts =
  | ({ readonly kind: 'installed' } & OutboxView)
  /** Postgres answers, but there is no outbox that could be read. */
  | { readonly kind: 'unfit'; readonly reason: string };

/** Everything that was seen, and what of it is known now. */
export interface Sight {
  readonly nowMs: number;
  readonly states: Known<JobStates>;
  readonly series: Known<SeriesStates>;
  readonly work: Known<Work>;
  readonly tracks: Tracks;
  readonly ends: Known<LogEnds>;
  readonly ages: Ages;
  readonly paces: Paces;
  readonly floors: Known<Floors>;
  readonly letterTopics: Known<LetterTopics>;
  readonly position: Known<RelayPosition | undefined>;
  readonly outbox: Known<OutboxFacts>;
  readonly registry: Known<true>;
}

export interface Collector {
  /** What is known now, without asking anybody. */
  read(): Sight;
  /** Asks, unless somebody has just done so, and waits a bounded time for the answers. */
  fresh(): Promise<Sight>;
  /** Calls back after every round until it is told to stop. */
  watch(onRound: (sight: Sight) => void): () => void;
  close(): Promise<void>;
}

export function createCollector(options: {
  readonly parts: ConsoleParts;
  readonly logger: Logger;
  readonly now?: () => number;
}): Collector {
  const { parts, logger, now = Date.now } = options;
  const feedOf = <Value>(look: () => Promise<Value>, everyMs = 0) =>
    createFeed({ look, staleAfterMs: STALE_AFTER_MS, now, everyMs });

  const paces = createPaces();
  const ageLooker = createAgeLooker(parts, now);
  const durable = feedOf(createJobStates(parts));
  const states = () => mapKnown(durable.read(), ({ jobs }) => jobs);
  const series = () => mapKnown(durable.read(), (seen) => seen.series);
  const work = feedOf(async () => {
    const seen = await lookAtWork(parts, knownValue(states()) ?? new Map());
    paces.observe(performance.now(), seen.ranges);
    return seen;
  });
  const tracks = () => tracksOf(knownValue(states()) ?? new Map(), knownValue(work.read())?.ranges ?? new Map());
  const ends = feedOf(() =>
    lookAtEnds(parts, [...tracks().tracks.map(({ topic }) => topic), ...seriesTopics(knownValue(series()))]),
  );
  const ages = feedOf(() => ageLooker.look(tracks().tracks, knownValue(ends.read()) ?? new Map()));
  const floors = feedOf(() =>
    lookAtFloors(parts, [
      ...tracks().tracks,
      ...seriesPlaces(knownValue(series()) ?? new Map(), knownValue(ends.read()) ?? new Map()),
    ]),
  );
  const letterTopics = feedOf(
    // As long as nobody knows the jobs, nobody knows their topics: that is no empty list.
    async () => lookAtLetterTopics(parts, neededValue(durable.read())),
    LETTER_TOPICS_EVERY_MS,
  );
  const position = feedOf(() => newestRelayPosition(parts, parts.relay));
  const outbox = feedOf(() => lookAtOutbox(parts, knownValue(position.read())));
  const registry = feedOf(async () => {
    await parts.askRegistry();
    return true as const;
  }, REGISTRY_EVERY_MS);

  /** What is right of an arrow goes on without what is left of it when that does not come. */
  const patiently = (feed: Feed<unknown>) => Promise.race([feed.refresh(), sleep(LOOK_WAIT_MS)]);

  async function inOrder(feeds: readonly Feed<unknown>[]): Promise<void> {
    for (const feed of feeds) await patiently(feed);
  }

  const chains = [[durable, work, ends, ages, floors], [position, outbox], [registry], [durable, letterTopics]];
  let roundAtMs = Number.NEGATIVE_INFINITY;
  let round: Promise<unknown> = Promise.resolve();

  function lookAround(): Promise<unknown> {
    roundAtMs = performance.now();
    round = Promise.all(chains.map(inOrder));
    return round;
  }

  function read(): Sight {
    return {
      nowMs: now(),
      states: states(),
      series: series(),
      work: work.read(),
      tracks: tracks(),
      ends: ends.read(),
      ages: ageLooker.ages,
      paces,
      floors: floors.read(),
      letterTopics: letterTopics.read(),
      position: position.read(),
      outbox: outbox.read(),
      registry: registry.read(),
    };
  }

  const watching = new Set<(sight: Sight) => void>();
  let looping: Promise<void> | undefined;
  const closing = new AbortController();

  async function loop(): Promise<void> {
    while (watching.size > 0 && !closing.signal.aborted) {
      const startedMs = performance.now();
      // A service that hangs does not keep the others' news from people.
      await Promise.race([lookAround(), sleep(ROUND_MS, closing.signal)]);
      tellAll();
      await sleep(Math.max(0, ROUND_MS - (performance.now() - startedMs)), closing.signal);
    }
    looping = undefined;
  }

  /** A view that fails is a fault of ours, and no reason to leave people without all the others. */
  function tellAll(): void {
    try {
      const sight = read();
      for (const onRound of watching) onRound(sight);
    } catch (error) {
      logger.error({ error }, 'console.view_failed');
    }
  }

  return {
    read,
    async fresh() {
      if (performance.now() - roundAtMs > FRESH_MS) void lookAround();
      await Promise.race([round, sleep(FRESH_WAIT_MS)]);
      return read();
    },
    watch(onRound) {
      watching.add(onRound);
      looping ??= loop();
      return () => watching.delete(onRound);
    },
    async close() {
      closing.abort();
      await looping;
      // What is still under way ends with its connection, which the caller closes.
    },
  };
}

async function lookAtOutbox(parts: ConsoleParts, position: RelayPosition | undefined): Promise<OutboxFacts> {
  try {
    return { kind: 'installed', ...(await viewOutbox(parts.outbox, position)) };
  } catch (error) {
    if (error instanceof TidemarkError && error.class === ErrorClass.config)
      return { kind: 'unfit', reason: describeError(error) };
    throw error;
  }
}
