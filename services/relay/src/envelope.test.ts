import { readRecord, SchemaName } from '@tidemark/contracts';
import { createMemoryCodec } from '@tidemark/contracts/testing';
import type { OutboxRow } from '@tidemark/outbox';
import { expect, it } from 'vitest';
import { toRecord } from './envelope.ts';

it('a request that asks for a hold for its audit is in a format that a distributor without holds refuses', async () => {
  const codec = createMemoryCodec();
  const formatOf = async (more: string): Promise<number> => {
    const row: OutboxRow = {
      position: 1n,
      id: 'an-id',
      topic: 'ns.jobs',
      key: 'j',
      type: 'JobRequested',
      payload: `{"jobId":"j","topic":"orders","handler":"count"${more}}`,
      headers: {},
      occurredAt: '2026-01-01T00:00:00Z',
    };
    const { value } = await toRecord({ codec, source: '/s', jobsTopic: 'ns.jobs' }, row, 1);
    if (value === null) throw new Error('a request has a value');
    return readRecord(await codec.decode(value), SchemaName.jobRequested).formatVersion;
  };
  expect([await formatOf(''), await formatOf(',"holdForAuditMs":1000')]).toEqual([1, 2]);
});
