/** Every call of a session to the outside fails, is not heard of again, or takes very long; rows are exact all the same. */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { publish } from '@tidemark/outbox/postgres';
import { waitFor } from '@tidemark/testkit';
import { describe, expect, it } from 'vitest';
import { type Relay, RelayState } from './relay.ts';
import { Moment, type Reach } from './testing/failpoints.ts';
import { countedUp, limitRecords, numbersByKey, openRelayTest, type RelayTest } from './testing/harness.ts';

/** The first calls of a kind stand for the later ones. */
const OF_A_KIND = 2;
const KEYS = ['a', 'b'];
/** Nobody takes over by himself, and no renewal comes into a session, which would be taken for the next one's beginning. */
const LONG_MS = 60_000;
/** Some forty sessions one after the other, of which each may take seconds on a busy machine. */
const WHILE_ALL_ARE_MET = { timeoutMs: 500_000 };
const timeout = 600_000;

/** What every session does. Without one of these the test would prove less than it says. A second commit is met in most runs only. */
const POINTS = [
  'lease.acquire 1',
  'cluster.openTransactionalWriter 1',
  'catalog.describe 1',
  'catalog.offsets 1',
  'log reader.read 1',
  'log reader.close 1',
  'codec.decode 1',
  'reader.checkInstalled 1',
  'reader.state 1',
  'reader.readTails 1',
  'reader.takeSnapshot 1',
  'reader.takeSnapshot 2',
  'reader.readPage 1',
  'reader.readPage 2',
  'catalog.settings 1',
  'reader.flushed 1',
  'reader.removePublished 1',
  'codec.encode 1',
  'writer.commit 1',
  'hints.wait 1',
  'hints.announceSleep 1',
  'hints.announceAwake 1',
];

/** What the topic takes. */
const RECORD_BYTES = 1_000;
const MORE_BYTES = 4 * RECORD_BYTES;

/** Rows come whenever a point is met, so whatever the relay knew then is old: two that can be sent, and one for which a key is parked. */
function rowsOf({ namespace, topic, outbox }: RelayTest) {
  const counts = new Map<string, number>();
  let rounds = 0;
  async function publishOne(key: string, fill: string): Promise<void> {
    const n = (counts.get(key) ?? 0) + 1;
    counts.set(key, n);
    await publish(outbox.client, { namespace, topic, key, type: 'x', payload: JSON.stringify({ n, fill }) });
  }
  return {
    counts,
    async publish(): Promise<void> {
      rounds += 1;
      for (const key of KEYS) await publishOne(key, '');
      await publishOne(`large ${rounds}`, 'x'.repeat(2 * RECORD_BYTES));
    },
  };
}
type Rows = ReturnType<typeof rowsOf>;

/**
 * One point a session, each the first that none before has met, until all that every session has are met, and a session
 * meets no new one between its lease and its awakening by a row that came while it slept.
 */
function pointsOf(
  rows: Rows,
  {
    moment,
    met,
    meet,
  }: { readonly moment: Moment; readonly met: Set<string>; readonly meet: (point: string) => Promise<void> },
) {
  let counts: Map<string, number> | undefined;
  let hasSlept = false;
  let isOver = false;
  let turns = 0;
  const reach: Reach = async (call, at) => {
    if (isOver) return;
    if (call === 'lease.acquire' && at === Moment.before) {
      counts = new Map();
      hasSlept = false;
    }
    if (call === 'lease.acquire' && at === Moment.after) turns += 1;
    if (call === 'hints.announceSleep' && at === Moment.after && !hasSlept) {
      hasSlept = true;
      await rows.publish();
    }
    if (at !== moment || counts === undefined) return;
    const times = (counts.get(call) ?? 0) + 1;
    counts.set(call, times);
    const point = `${call} ${times}`;
    if (times <= OF_A_KIND && !met.has(point)) {
      met.add(point);
      counts = undefined;
      await rows.publish();
      await meet(point);
    } else if (call === 'hints.announceAwake' && POINTS.every((each) => met.has(each))) {
      isOver = true;
    }
  };
  return {
    reach,
    get isOver() {
      return isOver;
    },
    /** A session has met its point. */
    get hasMet() {
      return counts === undefined && !isOver;
    },
    /** Answers to the question for the lease. */
    get turns() {
      return turns;
    },
  };
}

async function openTest(): Promise<{ readonly test: RelayTest; readonly rows: Rows }> {
  const test = await openRelayTest();
  await limitRecords(test.topic, RECORD_BYTES);
  const rows = rowsOf(test);
  const relay = await test.startRelay();
  await rows.publish();
  await waitFor('a stored place', () => relay.rowsPublished === KEYS.length);
  await relay.stop('its place is stored');
  return { test, rows };
}

async function expectExact(test: RelayTest, { counts }: Rows): Promise<void> {
  await limitRecords(test.topic, MORE_BYTES);
  await test.outbox.client.query(`insert into ${test.outbox.schema}.relay_retries default values`);
  const committed = [...counts.values()].reduce((sum, last) => sum + last, 0);
  await waitFor(`${committed} records`, async () => (await test.readAll(test.topic)).length >= committed, {
    timeoutMs: 60_000,
    intervalMs: 100,
  });
  expect(await numbersByKey(test.codec, await test.readAll(test.topic))).toEqual(countedUp(counts));
}

describe.each([Moment.before, Moment.after])('%s each call of a session', { timeout }, (moment) => {
  it('G5, G12, P9: it fails, and the relay goes on by itself', async () => {
    const { test, rows } = await openTest();
    const met = new Set<string>();
    const meet = async (point: string) => {
      throw new TidemarkError({ code: 'CUT', class: ErrorClass.unavailable, message: `cut ${moment} ${point}` });
    };
    const points = pointsOf(rows, { moment, met, meet });
    const reach: Reach = async (call, at) => {
      await points.reach(call, at);
      // Housekeeping gets over its failures, and the session goes on.
      if (call === 'hints.announceSleep' && points.hasMet) await meet('what others have got over');
    };
    const relay = await test.startRelay({ reach, random: () => 0, leaseTtlMs: LONG_MS });
    await waitFor('a session that no point ends', () => points.isOver, WHILE_ALL_ARE_MET);
    await expectExact(test, rows);
    expect([...met]).toEqual(expect.arrayContaining(POINTS));
    await waitFor('it publishes', () => relay.state === RelayState.publishing);
  });

  it('G5, P9: it takes until the next relay is in the middle of its turn, and goes on then', async () => {
    const { test, rows } = await openTest();
    const met = new Set<string>();
    let older: Paused | undefined;
    const startPausing = async () => {
      let pausedAt: string | undefined;
      const going = Promise.withResolvers<void>();
      const meet = (point: string) => {
        pausedAt = point;
        return going.promise;
      };
      const points = pointsOf(rows, { moment, met, meet });
      const reach: Reach = async (call, at) => {
        // Were its lease renewed while it stands still, the next one would wait in vain.
        if (call === 'lease.acquire' && pausedAt !== undefined) await going.promise;
        await points.reach(call, at);
      };
      const relay = await test.startRelay({ reach, leaseTtlMs: LONG_MS });
      await waitFor('a point, or none any more', () => pausedAt !== undefined || points.isOver);
      return { relay, points, pausedAt, goOn: () => going.resolve() };
    };
    for (;;) {
      const newer = await startPausing();
      if (older !== undefined) await continueAndEnd(older);
      if (newer.points.isOver) break;
      await test.outbox.client.query(`update ${test.outbox.schema}.relays set expires_at = '-infinity'`);
      older = newer;
    }
    await expectExact(test, rows);
    expect([...met]).toEqual(expect.arrayContaining(POINTS));
  });
});

interface Paused {
  readonly relay: Relay;
  readonly points: { readonly turns: number };
  readonly pausedAt: string | undefined;
  goOn(): void;
}

/** It publishes what it was about to, or finds out that it must not. */
async function continueAndEnd({ relay, points, pausedAt, goOn }: Paused): Promise<void> {
  const { turns } = points;
  const { rowsPublished } = relay;
  goOn();
  await waitFor(`an end of what was paused at ${pausedAt}`, () => {
    return points.turns > turns || relay.rowsPublished > rowsPublished || relay.state === RelayState.failed;
  });
  await relay.stop('its turn is over');
}
