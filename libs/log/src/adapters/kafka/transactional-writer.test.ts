import type { Producer, RecordMetadata, Transaction } from 'kafkajs';
import { expect, it } from 'vitest';
import { RecordPlacer } from './record-placer.ts';
import { KafkaTransactionalWriter } from './transactional-writer.ts';

const RECORDS = [0, 1].map((partition) => ({ topic: 't', partition, key: null, value: Buffer.from('x') }));

/** A session whose client says that these partitions were written to. */
function sessionAnswering(partitions: readonly number[]) {
  const log = { committed: 0 };
  const transaction: Pick<Transaction, 'sendBatch' | 'commit'> = {
    sendBatch: async (): Promise<RecordMetadata[]> =>
      partitions.map((partition) => ({ topicName: 't', partition, errorCode: 0, baseOffset: '0' })),
    async commit() {
      log.committed += 1;
    },
  };
  const producer: Pick<Producer, 'transaction' | 'disconnect'> = {
    transaction: async () => transaction as Transaction,
    disconnect: async () => {},
  };
  const writer = new KafkaTransactionalWriter({
    producer: producer as Producer,
    placer: new RecordPlacer(async () => ({ partitionCount: 2, messageBytesMax: 1_000 })),
    transactionalId: 'test',
  });
  return { writer, log };
}

it('commits what was written once to each partition', async () => {
  const { writer, log } = sessionAnswering([1, 0]);
  await writer.commit(RECORDS);
  expect({ ...log, usable: writer.usable }).toEqual({ committed: 1, usable: true });
});

// Seen with kafkajs 2.2.4: of two brokers one refuses, the other has answered, and the leader of a partition moves to the other.
it.each([
  ['forgot one', [1]],
  ['sent one twice', [1, 0, 1]],
])('P9: does not commit when the client %s, because its leader moved', async (_, partitions) => {
  const { writer, log } = sessionAnswering(partitions);
  await expect(writer.commit(RECORDS)).rejects.toMatchObject({ code: 'KAFKA_UNAVAILABLE', class: 'unavailable' });
  expect({ ...log, usable: writer.usable }).toEqual({ committed: 0, usable: false });
});
