/** The judge must be able to convict: every kind of mistake is planted once into a sink that was clean. */
import { services, uniqueName } from '@tidemark/testkit';
import pg from 'pg';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { countSink, deliveriesWithin, foundByJob, lostByJob, someMissing } from './counts.ts';
import { DELIVER, SINK_TABLES } from './sink.ts';

const JOB = 'job-1';
const RANGE = '0:0';
const OFFSETS = [0n, 1n, 2n, 3n, 4n, 5n];

let pool: pg.Pool;

const digestOf = (offset: bigint): string => `digest-${offset}`;

/** Answers the token that the sink has seen, when it refuses. */
async function deliver(
  offsets: readonly bigint[],
  token: string,
  digests = offsets.map(digestOf),
): Promise<string | null> {
  const given = [JOB, RANGE, token, offsets.map(() => 0), offsets.map(String), digests, 1];
  const { rows } = await pool.query<{ seen: string | null }>(DELIVER, given);
  return rows[0]?.seen ?? null;
}

beforeEach(async () => {
  const schema = uniqueName('counts').replaceAll('-', '_');
  pool = new pg.Pool({ connectionString: services().postgres, options: `-c search_path=${schema}` });
  onTestFinished(async () => {
    await pool.query(`drop schema ${schema} cascade`);
    await pool.end();
  });
  await pool.query(`create schema ${schema}`);
  await pool.query(SINK_TABLES);
  for (const offset of [...OFFSETS, 6n])
    await pool.query('insert into produced values ($1, 0, $2, $3, $4)', [
      'orders',
      offset,
      `k${offset % 2n}`,
      digestOf(offset),
    ]);
  await pool.query(`insert into windows values ($1, 'orders', 0, 0, 5, true)`, [JOB]);
});

const clean = {
  records: 6,
  missing: 0,
  lostInjected: 0,
  duplicateEffects: 0,
  repeated: 0,
  staleAttempted: 0,
  staleAccepted: 0,
  outOfOrder: 0,
};

describe('countSink', () => {
  it('finds nothing in a clean sink', async () => {
    await deliver(OFFSETS, '1:1');
    expect(await countSink(pool)).toEqual(clean);
  });

  it('finds what is missing, and not what is a dead letter', async () => {
    await deliver([0n, 1n, 4n, 5n], '1:1');
    await pool.query(`insert into dead_letters values ($1, 0, 2, 'transient')`, [JOB]);
    expect(await countSink(pool)).toEqual({ ...clean, missing: 1 });
    expect(await someMissing(pool, 5)).toEqual(['job-1 0/3']);
  });

  it('takes what a stranger deleted for lost only where it had no effect', async () => {
    await deliver([0n, 1n, 5n], '1:1');
    await pool.query(`insert into cuts values ('orders', 0, 4)`);
    expect(await countSink(pool)).toEqual({ ...clean, lostInjected: 2, missing: 1 });
    expect(await lostByJob(pool)).toEqual(new Map([[JOB, [{ partition: 0, first: 2n, last: 3n }]]]));
  });

  it('tells the places of what a stranger deleted, apart where something between them arrived', async () => {
    await deliver([1n, 5n], '1:1');
    await pool.query(`insert into dead_letters values ($1, 0, 3, 'transient')`, [JOB]);
    await pool.query(`insert into cuts values ('orders', 0, 6)`);
    const lost = [0n, 2n, 4n].map((offset) => ({ partition: 0, first: offset, last: offset }));
    expect(await lostByJob(pool)).toEqual(new Map([[JOB, lost]]));
  });

  it('counts repetitions', async () => {
    await deliver(OFFSETS, '1:1');
    await deliver([3n, 4n], '1:2');
    await deliver([4n], '1:3');
    expect(await countSink(pool)).toEqual({ ...clean, repeated: 3 });
    expect(await foundByJob(pool)).toEqual(new Map([[JOB, { effects: 6, deadLetters: 0, repeated: 3 }]]));
  });

  it.each([
    ['another value', async () => void (await deliver([5n], '1:1', ['digest-4']))],
    [
      'a second value',
      async () => {
        await deliver([5n], '1:1');
        await deliver([5n], '1:1', ['digest-4']);
      },
    ],
    ['a record outside of the window', async () => void (await deliver([5n, 6n], '1:1'))],
    [
      'a dead-lettered record',
      async () => {
        await deliver([5n], '1:1');
        await pool.query(`insert into dead_letters values ($1, 0, 5, 'transient')`, [JOB]);
      },
    ],
  ])('finds the effect of %s', async (_, plant) => {
    await deliver([0n, 1n, 2n, 3n, 4n], '1:1');
    await plant();
    expect((await countSink(pool)).duplicateEffects).toBe(1);
  });

  it('finds an older token that was taken, and counts those that were refused', async () => {
    expect(await deliver([0n, 1n, 2n], '1:2')).toBeNull();
    expect(await deliver([3n], '1:1')).toBe('1:2');
    expect(await deliver([3n, 4n, 5n], '1:2')).toBeNull();
    expect(await countSink(pool)).toEqual({ ...clean, staleAttempted: 1 });
    await pool.query('delete from tokens'); // a sink that forgot
    await deliver([3n], '1:1');
    expect(await countSink(pool)).toEqual({ ...clean, staleAttempted: 1, staleAccepted: 1, repeated: 1 });
  });

  it('finds a key whose records were handled out of order, also when all of them arrived', async () => {
    await deliver([1n, 3n, 2n, 5n], '1:1'); // 1, 3, 5 are of one key, 2 of the other
    expect((await countSink(pool)).outOfOrder).toBe(0);
    await deliver([4n, 0n], '1:1');
    expect(await countSink(pool)).toEqual({ ...clean, outOfOrder: 2 });
    await deliver([2n], '1:1'); // a repetition is no disorder
    expect((await countSink(pool)).outOfOrder).toBe(2);
  });
});

it('counts deliveries of a span of time', async () => {
  await deliver(OFFSETS, '1:1');
  const nowMs = Date.now();
  expect(await deliveriesWithin(pool, { fromMs: nowMs - 60_000, toMs: nowMs + 60_000 })).toBe(6);
  expect(await deliveriesWithin(pool, { fromMs: nowMs + 60_000, toMs: nowMs + 120_000 })).toBe(0);
});
