import { describe, expect, it } from 'vitest';
import { SchemaName } from './ports.ts';
import { expectFormat, jsonToRecord, readRecord } from './records.ts';

describe('jsonToRecord', () => {
  it('fills in the defaults of the schema', () => {
    expect(
      jsonToRecord(
        SchemaName.jobRequested,
        '{"jobId":"j-1","topic":"orders","handler":"count","deadLettersMax":9007199254740993}',
      ),
    ).toEqual({
      formatVersion: 1,
      jobId: 'j-1',
      topic: 'orders',
      handler: 'count',
      parameters: {},
      from: 'earliest',
      to: 'now',
      disorderMs: -1n,
      ordering: 'none',
      chunkRecords: 1000,
      chunkBytes: 1_048_576,
      concurrency: 0,
      rate: 0,
      rangesPerPartition: 1,
      attempts: 5,
      onExhausted: 'dead letter',
      parkedMax: 1000,
      deadLettersMax: 9007199254740993n,
      budget: { secondsMax: 0n, chunksMax: 0n, failuresMax: 0n },
      onLost: 'stop',
      holdForAuditMs: 0n,
      acceptDuplicates: false,
      priority: 0,
      note: '',
      requestedBy: '',
      series: '',
    });
  });

  it('hands out defaults that are not shared', () => {
    const json = '{"jobId":"j-1","topic":"orders","handler":"count"}';
    expect(jsonToRecord(SchemaName.jobRequested, json).parameters).not.toBe(
      jsonToRecord(SchemaName.jobRequested, json).parameters,
    );
  });

  it('takes numbers for text, because people write epoch milliseconds and parameters that way', () => {
    const request = jsonToRecord(
      SchemaName.jobRequested,
      '{"jobId":1,"topic":"t","handler":"h","from":1700000000000,"parameters":{"limit":5}}',
    );
    expect(request).toMatchObject({ jobId: '1', from: '1700000000000', parameters: { limit: '5' } });
  });

  it.each([
    ['{"jobId":"j","topic":"t"}', 'handler: expected a string, found nothing'],
    [
      '{"jobId":"j","topic":"t","handler":"h","orderring":"key"}',
      'orderring: expected no such field; dev.tidemark.JobRequested has formatVersion, jobId',
    ],
    [
      '{"jobId":"j","topic":"t","handler":"h","attempts":"many"}',
      'attempts: expected a whole number of 32 bits, found a string',
    ],
    ['{"jobId":"j","topic":"t","handler":"h","note":{}}', 'note: expected a string, found an object'],
    ['null', 'expected an object (dev.tidemark.JobRequested), found null'],
  ])('refuses %s', (json, reason) => {
    expect(() => jsonToRecord(SchemaName.jobRequested, json)).toThrow(`dev.tidemark.JobRequested: ${reason}`);
  });

  it('refuses a format that this program does not know', () => {
    expect(() =>
      jsonToRecord(SchemaName.storeEpoch, '{"formatVersion":2,"incarnation":"i","distributor":"d","atMs":1}'),
    ).toThrow(expect.objectContaining({ code: 'NEWER_FORMAT', class: 'config' }));
  });
});

describe('readRecord', () => {
  const value = { formatVersion: 1, incarnation: 'i', distributor: 'd', atMs: 1n };

  it('gives the record that was expected', () => {
    expect(readRecord({ schema: SchemaName.storeEpoch, value }, SchemaName.storeEpoch).atMs).toBe(1n);
  });

  it('refuses another record and a newer format', () => {
    expect(() => readRecord({ schema: 'x.Order', value }, SchemaName.storeEpoch)).toThrow(
      expect.objectContaining({ code: 'WRONG_RECORD', class: 'data' }),
    );
    expect(() =>
      readRecord({ schema: SchemaName.storeEpoch, value: { ...value, formatVersion: 2 } }, SchemaName.storeEpoch),
    ).toThrow(expect.objectContaining({ code: 'NEWER_FORMAT' }));
  });
});

describe('expectFormat', () => {
  it('takes what is known and older, and records without a version', () => {
    expect(() => expectFormat({ formatVersion: 2 }, 2)).not.toThrow();
    expect(() => expectFormat({ formatVersion: 1 }, 2)).not.toThrow();
    expect(() => expectFormat({}, 1)).not.toThrow();
    expect(() => expectFormat({ formatVersion: 3 }, 2)).toThrow('update this program');
  });
});
