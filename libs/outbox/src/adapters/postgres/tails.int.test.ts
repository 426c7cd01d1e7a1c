import { services, uniqueNamespace } from '@tidemark/testkit';
import { expect, it, onTestFinished } from 'vitest';
import type { KeyTail } from '../../ports.ts';
import { NOTHING_VISIBLE } from '../../snapshot.ts';
import { openTestOutbox, type TestOutbox } from '../../testing/index.ts';
import { PATIENT } from '../../testing/patient.ts';
import { openPostgresOutbox, publish } from './index.ts';

const LIMITS = { rowsMax: 100, bytesMax: 1_000_000 };

async function openTest() {
  const namespace = uniqueNamespace('outbox');
  const test = await openTestOutbox({ url: services().postgres, namespace });
  onTestFinished(() => test.drop());
  const { reader, close } = openPostgresOutbox({
    url: test.url,
    namespace,
    relay: 'main',
    owner: 'test',
    patience: PATIENT,
  });
  onTestFinished(() => close());
  const write = (key: string, topic = 'orders', client = test.client) =>
    publish(client, { namespace, topic, key, type: 'x', payload: '1', ordered: false });
  return { test, reader, write };
}

async function positionsIn({ client, schema }: TestOutbox): Promise<readonly bigint[]> {
  const { rows } = await client.query<{ position: string }>(
    `select position::text as position from ${schema}.outbox order by outbox.position`,
  );
  return rows.map(({ position }) => BigInt(position));
}

function tailOf(key: string, position: bigint, topic = 'orders'): KeyTail {
  return { topic, key, position };
}

/** A key of which every character matters. */
const ODD_KEY = `o'r\\d"er\nü`;

it('the rows of some keys from a position on, as far as they are published, in order and in pages', async () => {
  const { test, reader, write } = await openTest();
  const first = await write(ODD_KEY);
  await write('b');
  await write(ODD_KEY, 'bills');
  const second = await write(ODD_KEY);
  const older = (await reader.takeSnapshot()).snapshot;
  const third = await write(ODD_KEY);
  const other = await write('c');
  const open = await test.connect();
  await open.query('begin');
  await write(ODD_KEY, 'orders', open);
  const last = await write(ODD_KEY);
  const { snapshot: upTo } = await reader.takeSnapshot();

  const read = async (place: Parameters<typeof reader.readTails>[0], tails: readonly KeyTail[], limits = LIMITS) => {
    const page = await reader.readTails(place, tails, limits);
    return { positions: page.rows.map(({ position }) => position), isLast: page.isLast };
  };
  const all = { snapshot: upTo, window: undefined };
  const inside = { snapshot: older, window: { upTo, place: third } };
  const tails = [tailOf(ODD_KEY, first), tailOf('c', other)];
  expect(await read(all, tails)).toEqual({ positions: [first, second, third, other, last], isLast: true });
  expect(await read({ snapshot: older, window: undefined }, tails)).toEqual({
    positions: [first, second],
    isLast: true,
  });
  expect(await read(inside, tails)).toEqual({ positions: [first, second, third], isLast: true });
  expect(await read(all, [tailOf(ODD_KEY, third)])).toEqual({ positions: [third, last], isLast: true });
  expect(await read(all, tails, { ...LIMITS, rowsMax: 2 })).toEqual({ positions: [first, second], isLast: false });

  const asked = [...tails, tailOf('nobody', 1n)];
  expect(await reader.countTails(all, asked)).toEqual([4, 1, 0]);
  expect(await reader.countTails(inside, asked)).toEqual([3, 0, 0]);
  expect(await reader.countTails(all, [])).toEqual([]);
});

it('clean-up spares the tails of keys, and nothing before them', async () => {
  const { test, reader, write } = await openTest();
  await write('a');
  const waiting = [await write('a'), await write('a')];
  await write('b');
  const { snapshot } = await reader.takeSnapshot();
  const fresh = await write('b');
  const window = { after: NOTHING_VISIBLE, upTo: snapshot };
  expect(await reader.cleanup(window, [tailOf('a', waiting[0] ?? 0n)])).toEqual({ rows: 2, goOnAt: undefined });
  expect(await positionsIn(test)).toEqual([...waiting, fresh]);
  expect(await reader.cleanup(window)).toEqual({ rows: 2, goOnAt: undefined });
  expect(await positionsIn(test)).toEqual([fresh]);
});

it('removes what is published of a key from a position on, or only a part of it', async () => {
  const { test, reader, write } = await openTest();
  const rows = [await write('a'), await write('a'), await write('b'), await write('a')] as const;
  const { snapshot } = await reader.takeSnapshot();
  const fresh = await write('a');
  await reader.removePublished(snapshot, [{ ...tailOf('a', rows[1]), below: rows[3] }]);
  expect(await positionsIn(test)).toEqual([rows[0], rows[2], rows[3], fresh]);
  await reader.removePublished(snapshot, [{ ...tailOf('a', rows[1]), below: null }]);
  expect(await positionsIn(test)).toEqual([rows[0], rows[2], fresh]);
});

it('a wish for a retry is taken once', async () => {
  const { reader } = await openTest();
  await reader.askRetry({ topic: 'orders', key: null });
  await reader.askRetry({ topic: null, key: ODD_KEY });
  const taken = await reader.takeRetries();
  expect(taken).toHaveLength(2);
  expect(taken).toEqual(
    expect.arrayContaining([
      { topic: 'orders', key: null },
      { topic: null, key: ODD_KEY },
    ]),
  );
  expect(await reader.takeRetries()).toEqual([]);
});
