/** What a session needs beside publishing: the lease renewed, published rows removed, and whoever holds rows back named. */
import { describeError, ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import type { Logger } from '@tidemark/observability';
import type { Blocker, Outbox, RetryWish } from '@tidemark/outbox';
import type { Progress } from './batches.ts';
import { createCleanUp } from './clean-up.ts';
import {
  BLOCKERS_EVERY_MS,
  CLOCK_BLUR_MS,
  HOUSEKEEPING_MS,
  LEASE_RENEWALS_PER_TTL,
  PARTITIONS_EVERY_MS,
} from './limits.ts';

export interface Housekeeping {
  /** Aborted when somebody else has the lease. */
  readonly leaseLost: AbortSignal;
  /** Committed to Kafka. */
  published(progress: Progress): void;
  /** Resolves when nothing of it runs any more. */
  end(): Promise<void>;
}

export function startHousekeeping(
  outbox: Outbox,
  {
    leaseTtlMs,
    logger,
    onWish,
  }: { readonly leaseTtlMs: number; readonly logger: Logger; readonly onWish: (wish: RetryWish) => void },
): Housekeeping {
  const ending = new AbortController();
  const lost = new AbortController();
  let newest: Progress | undefined;
  let recorded: Progress | undefined;
  const cleaning = createCleanUp(outbox.reader);
  let named: ReadonlyMap<string, number> = new Map();
  let untold: ReadonlySet<string> = new Set();

  async function renew(): Promise<void> {
    const answer = await outbox.lease.acquire(leaseTtlMs).catch((error: unknown) => {
      // Another name has the outbox. Whoever takes the next turn says so, and stops.
      if (error instanceof TidemarkError && error.class === ErrorClass.config) lost.abort();
      throw error;
    });
    if (answer.kind === 'granted') return;
    logger.warn({ owner: answer.owner }, 'lease.lost');
    lost.abort();
  }

  async function cleanUp(): Promise<void> {
    const progress = newest;
    if (progress === undefined) return;
    if (progress !== recorded) await outbox.lease.record(progress.position.snapshot);
    recorded = progress;
    await cleaning.round(progress, ending.signal);
  }

  async function takeWishes(): Promise<void> {
    for (const wish of await outbox.reader.takeRetries()) onWish(wish);
  }

  /** Each once: it is known by who it is and when it began, which two clocks tell a little differently every time. */
  async function nameBlockers(): Promise<void> {
    const blockers = await outbox.reader.blockers();
    const begun = new Map(blockers.map((blocker) => [nameOf(blocker), Date.now() - blocker.ageMs]));
    for (const blocker of blockers) {
      const name = nameOf(blocker);
      const before = named.get(name);
      if (before !== undefined && Math.abs(before - (begun.get(name) ?? 0)) < CLOCK_BLUR_MS) continue;
      logger.warn(fieldsOf(blocker), 'outbox.rows_held_back');
    }
    named = begun;
  }

  async function guardPartitions(): Promise<void> {
    for (const { partition, fault } of await outbox.reader.guardPartitions()) {
      if (fault === undefined) logger.info({ partition }, 'partition.guarded');
      else logger.warn({ partition, fault }, 'partition.open_to_truncate');
    }
  }

  /** Each once, and again when it comes back. */
  async function nameUntoldTables(): Promise<void> {
    const found = await outbox.reader.untoldTables();
    for (const { table, fault } of found)
      if (!untold.has(`${table}: ${fault}`)) logger.error({ table, fault, help: ATTACH_AGAIN }, 'table.untold');
    untold = new Set(found.map(({ table, fault }) => `${table}: ${fault}`));
  }

  const duties = [
    every(leaseTtlMs / LEASE_RENEWALS_PER_TTL, renew),
    every(HOUSEKEEPING_MS, cleanUp),
    every(HOUSEKEEPING_MS, takeWishes),
    every(BLOCKERS_EVERY_MS, nameBlockers),
    every(PARTITIONS_EVERY_MS, guardPartitions),
    every(PARTITIONS_EVERY_MS, nameUntoldTables, { atOnce: true }),
  ];

  /** A failure is the database's, which the session notices by itself; a missed round is made up by the next. */
  async function every(ms: number, duty: () => Promise<void>, { atOnce = false } = {}): Promise<void> {
    for (let pauseMs = atOnce ? 0 : ms; !ending.signal.aborted; pauseMs = ms) {
      await sleep(pauseMs, ending.signal);
      if (ending.signal.aborted) return;
      await duty().catch((error: unknown) => logger.debug({ error: describeError(error) }, 'housekeeping.failed'));
    }
  }

  return {
    leaseLost: lost.signal,
    published(progress) {
      newest = progress;
    },
    async end() {
      ending.abort();
      await Promise.all(duties);
    },
  };
}

const ATTACH_AGAIN =
  'attach the table again; what was changed meanwhile is told by "tidemark outbox bootstrap", but for rows that are gone';

function nameOf({ preparedAs, pid }: Blocker): string {
  return preparedAs ?? `${pid}`;
}

function fieldsOf(blocker: Blocker) {
  const { pid, preparedAs, application, user, state, ageMs } = blocker;
  return { pid, preparedAs, application, user, state, ageMs };
}
