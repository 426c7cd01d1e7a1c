import { readRecord, SchemaName } from '@tidemark/contracts';
import { createMemoryCodec } from '@tidemark/contracts/testing';
import { parseSnapshot } from '@tidemark/outbox';
import { expect, it } from 'vitest';
import { parkedKeysOf } from './parked-keys.ts';
import { positionFromBytes, positionRecord, type StoredPosition } from './position-topic.ts';

const between: StoredPosition = {
  position: {
    snapshot: parseSnapshot('9223372036854775000:9223372036854775807:9223372036854775001'),
    window: undefined,
    walInsertLsn: '1/0',
    identity: { systemIdentifier: '7713634774331641275', timeline: 3 },
  },
  parked: parkedKeysOf([]),
  partitionCounts: { orders: 12 },
  partitioner: 'murmur2',
};

const inside: StoredPosition = {
  ...between,
  position: {
    ...between.position,
    window: { upTo: parseSnapshot('9223372036854775001:9223372036854775807:'), place: 9_007_199_254_740_993n },
  },
};

it.each([
  ['between windows', between],
  ['inside a window', inside],
])('a position %s is read back as it was written', async (_, stored) => {
  const codec = createMemoryCodec();
  const record = await positionRecord(codec, stored, { topic: 'ns.relay', relay: 'main', atMs: 5n });
  expect(record).toMatchObject({ topic: 'ns.relay', partition: 0, key: Buffer.from('main') });
  if (record.value === null) throw new Error('a position is no tombstone');
  expect((await codec.decode(record.value)).schema).toBe(SchemaName.relayPosition);
  expect(await positionFromBytes(codec, record.value)).toEqual(stored);
});

it('parked keys are told from format 2 on, which a program that would forget them refuses', async () => {
  const codec = createMemoryCodec();
  const key = {
    topic: 'orders',
    key: 'o-3 ü',
    position: 9_007_199_254_740_993n,
    table: 'public.orders',
    type: 'order',
    bytes: 3_145_728n,
    reason: 'too large',
    parkedAtMs: 1n,
    triedAtMs: 2n,
  };
  const stored = { ...inside, parked: parkedKeysOf([key]) };
  const formatOf = async (position: StoredPosition) => {
    const { value } = await positionRecord(codec, position, { topic: 'ns.relay', relay: 'main', atMs: 5n });
    if (value === null) throw new Error('a position is no tombstone');
    expect(await positionFromBytes(codec, value)).toEqual(position);
    return readRecord(await codec.decode(value), SchemaName.relayPosition).formatVersion;
  };
  expect(await formatOf(stored)).toBe(2);
  expect(await formatOf(inside)).toBe(1);
});
