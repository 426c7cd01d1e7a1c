import type { RelayPosition } from '@tidemark/contracts';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { createMemoryCluster } from '@tidemark/log/testing';
import { type DatabaseState, type Outbox, parseSnapshot } from '@tidemark/outbox';
import { expect, it } from 'vitest';
import { positionFaults } from './position-faults.ts';

const IDENTITY = { systemIdentifier: '7713634774331641275', timeline: 1 };
const STATE: DatabaseState = {
  identity: IDENTITY,
  snapshot: parseSnapshot('200:210:'),
  walInsertLsn: '2/0',
  hasRowsFromTheFuture: false,
  forks: [],
};
const POSITION: RelayPosition = {
  ...{ formatVersion: 1, relay: 'main', snapshot: '100:105:', nextSnapshot: '', place: 0n, walInsertLsn: '1/0' },
  ...{ ...IDENTITY, partitionCounts: { a: 1, b: 2, gone: 4 }, partitioner: 'murmur2', parked: [], atMs: 0n },
};

function outbox(state: () => Promise<DatabaseState>): Pick<Outbox, 'reader'> {
  // Nothing else of it is asked.
  return { reader: { state } } as unknown as Pick<Outbox, 'reader'>;
}

async function codesOf(position: RelayPosition | undefined, database = outbox(async () => STATE)) {
  const cluster = createMemoryCluster();
  cluster.createTopic('a', { partitionCount: 3 });
  cluster.createTopic('b', { partitionCount: 2 });
  const faults = await positionFaults({ cluster }, database, { position, witness: parseSnapshot('90:95:') });
  return faults.map(({ code }) => code);
}

it('tells what the relay would stop with, and topics whose keys would move', async () => {
  expect(await codesOf(POSITION)).toEqual(['PARTITIONS_CHANGED']);
  expect(await codesOf({ ...POSITION, partitionCounts: {} })).toEqual([]);
  expect(await codesOf({ ...POSITION, partitionCounts: {}, systemIdentifier: '42' })).toEqual(['FOREIGN_DATABASE']);
  expect(await codesOf({ ...POSITION, partitionCounts: {}, snapshot: '80:85:' })).toEqual(['POSITION_LOST']);
  expect(await codesOf(undefined)).toEqual(['POSITION_LOST']);
});

it('a standby is a fault like others, any other trouble is not', async () => {
  const failing = (code: string, errorClass: ErrorClass) =>
    outbox(() => Promise.reject(new TidemarkError({ code, class: errorClass, message: code })));
  expect(await codesOf(POSITION, failing('STANDBY', ErrorClass.config))).toEqual(['STANDBY']);
  await expect(codesOf(POSITION, failing('POSTGRES_UNAVAILABLE', ErrorClass.unavailable))).rejects.toThrow(
    'POSTGRES_UNAVAILABLE',
  );
});
