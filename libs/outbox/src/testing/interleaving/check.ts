/**
 * One run: writers that interleave at random, a delivery that crashes at random, and P9 judged by what the transactions
 * wrote down of themselves. All choices come from the seed; the timing does not, so a seed repeats a fault likely, not surely.
 */
import { sleep } from '@tidemark/keyspace';
import { type Chance, chanceOf } from '@tidemark/testkit/chance';
import { openTestOutbox, type TestOutbox } from '../test-outbox.ts';
import type { Delivered, Delivery } from './delivery.ts';
import { CRASH_AFTER_COMMITS, CRASH_LOOK_MS } from './limits.ts';
import { planOf } from './plan.ts';
import type { Plant } from './plants.ts';
import { BY_READER } from './reading.ts';
import { readRequests, readStanding, readTruth, setStage, stateTopicsOf } from './stage.ts';
import { countInversions, type Fault, judge, type TrueRow } from './verdict.ts';
import { endPreparations, newTally, runWriter, type Tally } from './writers.ts';

export interface InterleavingOptions {
  readonly url: string;
  readonly namespace: string;
  readonly seed: number;
  readonly plant?: Plant;
  /** Default: the reader alone. */
  readonly delivery?: Delivery;
  /** Ends the server as a crash does, and starts it again. The writers begin anew after each of so many crashes. */
  readonly server?: { crash(): Promise<void>; restart(): Promise<void>; readonly crashes: number };
}

export interface InterleavingRun {
  readonly faults: readonly Fault[];
  /** What a run must be made of to be worth something, and how often it happened. */
  readonly happened: Readonly<Record<string, number>> & { readonly rows: number };
}

export async function checkInterleaving(options: InterleavingOptions): Promise<InterleavingRun> {
  const { url, namespace, seed, plant, delivery = BY_READER, server } = options;
  const outbox = await openTestOutbox({ url, namespace });
  const tally = newTally();
  try {
    await setStage(outbox);
    await plant?.install?.(outbox);
    // What is set up must outlive the first crash, and flushing is not left to the writers.
    if (server !== undefined) await outbox.client.query('checkpoint');
    let isOver = false;
    const { delivered } = await delivery.start({
      outbox,
      chance: chanceOf(seed).fork('delivery'),
      plant,
      isOver: () => isOver,
      serverCrashes: server !== undefined,
    });
    const writing = runActs(outbox, options, tally).finally(() => {
      isOver = true;
    });
    // Both, so that neither goes on when the stage is taken down.
    await Promise.allSettled([delivered, writing]);
    const [result] = await Promise.all([delivered, writing]);
    return await judgeRun(outbox, result, tally);
  } finally {
    await rollBackPrepared(outbox).catch(() => {}); // the server of the test may be gone
    await outbox.drop();
  }
}

async function judgeRun(outbox: TestOutbox, delivered: Delivered, tally: Tally): Promise<InterleavingRun> {
  const client = await outbox.connect();
  const truth = await readTruth(client, outbox.schema);
  const requests = await readRequests(client, outbox.schema);
  const faults = judge({
    truth,
    delivered: delivered.rows,
    standing: await readStanding(client, outbox),
    capturedTopics: stateTopicsOf(outbox),
    requests,
    waited: delivered.waited,
  });
  return {
    faults: [...delivered.faults, ...faults],
    happened: {
      ...whatHappened(truth, tally),
      requestsWithRowsBefore: requests.filter(({ covers }) => covers.length > 0).length,
      ...delivered.happened,
    },
  };
}

function whatHappened(truth: readonly TrueRow[], tally: Tally) {
  return {
    rows: truth.length,
    /** Of two writers of a key the first had the younger transaction id. */
    inversions: countInversions(truth),
    rollbacks: tally.rollbacks,
    rollbacksToSavepoint: tally.rollbacksToSavepoint,
    preparedTransactions: tally.prepared,
    deadlocks: tally.refused.get('40P01') ?? 0,
    serializationFailures: tally.refused.get('40001') ?? 0,
  };
}

async function runActs(outbox: TestOutbox, { seed, server }: InterleavingOptions, tally: Tally): Promise<void> {
  const chance = chanceOf(seed).fork('server crashes');
  const crashes = server?.crashes ?? 0;
  for (let act = 0; act <= crashes; act += 1) {
    const playing = play(outbox, { seed: seed + act * 1_000_003, act, prepares: server === undefined }, tally);
    if (server === undefined || act === crashes) await playing;
    else await crashDuring(playing, server, () => tally.commits, chance);
  }
}

async function play(
  outbox: TestOutbox,
  { seed, act, prepares }: { readonly seed: number; readonly act: number; readonly prepares: boolean },
  tally: Tally,
): Promise<void> {
  const preparations = endPreparations(await outbox.connect());
  const writing = planOf(seed, { prepares }).map(async (plans, i) => {
    const session = await outbox.connect();
    await runWriter({ outbox, session, name: `${act}-${i}`, preparations, tally }, plans);
  });
  // All of them, so that none goes on when the stage is taken down.
  const outcomes = await Promise.allSettled(writing);
  await preparations.allEnded();
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

async function crashDuring(
  playing: Promise<void>,
  server: NonNullable<InterleavingOptions['server']>,
  commits: () => number,
  chance: Chance,
): Promise<void> {
  let isPlayed = false;
  const ended = playing
    .catch(() => {}) // their sessions are gone
    .finally(() => {
      isPlayed = true;
    });
  // Counted, not timed: a slow machine has written as much as a fast one by then.
  const enough = commits() + chance.between(...CRASH_AFTER_COMMITS);
  while (!isPlayed && commits() < enough) await sleep(CRASH_LOOK_MS);
  await server.crash();
  await ended;
  await server.restart();
}

/** Only a failed run has any left; their locks would outlive it. */
async function rollBackPrepared(outbox: TestOutbox): Promise<void> {
  const client = await outbox.connect();
  const { rows } = await client.query<{ gid: string }>(
    `select gid from pg_prepared_xacts where starts_with(gid, $1 || '-')`,
    [outbox.namespace],
  );
  for (const { gid } of rows) await client.query(`rollback prepared '${gid}'`);
}
