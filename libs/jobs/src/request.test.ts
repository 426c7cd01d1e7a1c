import { jsonToRecord, SchemaName } from '@tidemark/contracts';
import { describe, expect, it } from 'vitest';
import { decodeDefinition, definitionOf } from './definition.ts';
import { contentOf, isSameContent } from './request-content.ts';
import { newRequest } from './request-defaults.ts';
import { jobIdFault, requestFaults } from './request-validation.ts';
import { samplePin, sampleRequest, sampleState } from './testing/index.ts';

describe('requests', () => {
  it('the defaults here are those of the schema', () => {
    const said = { jobId: 'job-1', topic: 'orders', handler: 'count' };
    expect(newRequest(said)).toEqual(jsonToRecord(SchemaName.jobRequested, JSON.stringify(said)));
  });

  it('content is everything but the sender and the format, in any order', () => {
    const request = sampleRequest({ parameters: { a: '1', b: '2' } });
    expect(isSameContent(request, { ...request, requestedBy: 'x', parameters: { b: '2', a: '1' } })).toBe(true);
    expect(isSameContent(request, { ...request, deadLettersMax: 9_007_199_254_740_993n })).toBe(false);
    expect(isSameContent(request, { ...request, parameters: { a: '1' } })).toBe(false);
    expect(isSameContent(request, { ...request, to: '0:5' })).toBe(false);
    expect(isSameContent(request, { ...request, holdForAuditMs: 1n })).toBe(false);
    expect(isSameContent(request, { ...request, disorderMs: 0n })).toBe(false);
    expect(contentOf(request)).not.toContain('requestedBy');
  });

  it('a whole request has no fault', () => {
    expect(requestFaults(sampleRequest())).toEqual([]);
    expect(
      requestFaults(sampleRequest({ rangesPerPartition: 8, parameters: { k: 'v' }, from: 'after:other' })),
    ).toEqual([]);
    expect(requestFaults(sampleRequest({ rangesPerPartition: 0, concurrency: 10_000, rate: 1, parkedMax: 0 }))).toEqual(
      [],
    );
  });

  it('all faults come at once', () => {
    const faults = requestFaults(
      sampleRequest({
        topic: 'no/slash',
        handler: '',
        ordering: 'random',
        onLost: 'cry',
        chunkRecords: 0,
        chunkBytes: 1,
        onExhausted: 'give up',
        concurrency: -1,
        rate: -5,
        rangesPerPartition: -1,
        attempts: 0,
        parkedMax: 10_001,
        deadLettersMax: -1n,
        budget: { secondsMax: -1n, chunksMax: 0n, failuresMax: -2n },
        holdForAuditMs: -1n,
        disorderMs: -2n,
        from: '0:9',
        to: '0:8',
      }),
    );
    expect(faults).toEqual([
      'topic "no/slash" is not a legal topic name',
      expect.stringMatching(/^handler "" must be lower-case words/),
      'ordering "random" is none of: none, partition, key',
      'onLost "cry" is none of: stop, skip',
      'onExhausted "give up" is none of: dead letter, suspend',
      expect.stringMatching(/^chunkRecords 0 is not between 1 and \d+$/),
      expect.stringMatching(/^chunkBytes 1 is not between \d+ and \d+$/),
      'concurrency -1 is not between 0 and 10000',
      'rate -5 is negative',
      'rangesPerPartition -1 is not between 0 and 10000',
      expect.stringMatching(/^attempts 0 is not between 1 and \d+$/),
      'parkedMax 10001 is not between 0 and 10000',
      'deadLettersMax -1 is negative',
      'budget.secondsMax -1 is negative',
      'budget.failuresMax -2 is negative',
      'holdForAuditMs -1 is not between 0 and 7776000000, which is 90 days',
      'disorderMs -2 is not between -1 and 31622400000, which is 366 days',
      'the end 8 of partition 0 is before its start 9',
    ]);
  });

  it.each([
    ['rangesPerPartition 2 needs ordering none', sampleRequest({ ordering: 'key', rangesPerPartition: 2 })],
    ['a job cannot follow itself', sampleRequest({ from: 'after:job-1' })],
    ['parameters', sampleRequest({ parameters: { big: 'x'.repeat(100_000) } })],
    ['note', sampleRequest({ note: 'x'.repeat(5_000) })],
    ['holdForAuditMs', sampleRequest({ holdForAuditMs: 7_776_000_001n })],
    ['it needs an instant as its end', sampleRequest({ disorderMs: 0n })],
    ['not a legal topic name', sampleRequest({ topic: '..' })],
  ])('refuses: %s', (text, request) => {
    expect(requestFaults(request).join()).toContain(text);
  });

  it('refuses a job id that no key could hold', () => {
    expect(jobIdFault('{x}')).toMatch(/^jobId "\{x\}" must be 1 to \d+ letters/);
    expect(jobIdFault('x')).toBeUndefined();
  });
});

describe('the definition for the workers', () => {
  it('comes whole from the durable state', () => {
    const request = sampleRequest({
      from: '1700000000000',
      to: '2023-11-14T22:13:21Z',
      parameters: { k: 'v' },
      attempts: 3,
      concurrency: 2,
      rate: 50,
      parkedMax: 7,
      onExhausted: 'suspend',
    });
    const definition = decodeDefinition(definitionOf(sampleState({ request, pin: samplePin() })));
    expect(definition).toMatchObject({
      formatVersion: 2,
      concurrency: 2,
      rate: 50,
      parkedMax: 7,
      onExhausted: 'suspend',
      jobId: 'job-1',
      topicId: 'topic-id-1',
      parameters: { k: 'v' },
      attempts: 3,
      fromMs: 1_700_000_000_000,
      toMs: 1_700_000_001_000,
    });
  });

  it('has no time bounds when the window has none', () => {
    expect(decodeDefinition(definitionOf(sampleState()))).toMatchObject({ fromMs: null, toMs: null });
  });

  it('of format 1 parks nothing, because the distributor that wrote it would lose what is parked', () => {
    const { formatVersion: _, rate: _rate, onExhausted: _on, parkedMax: _max, ...older } = definition();
    const text = JSON.stringify({ formatVersion: 1, ...older });
    expect(decodeDefinition(text)).toEqual({
      ...older,
      formatVersion: 1,
      rate: 0,
      parkedMax: 0,
      onExhausted: 'dead letter',
    });
  });

  it('of a newer format is refused by name', () => {
    const text = JSON.stringify({ ...definition(), formatVersion: 3 });
    expect(() => decodeDefinition(text)).toThrow('job job-1 is in format 3, this program knows up to 2');
  });

  it('is not made up for a job without a pin', () => {
    expect(() => definitionOf(sampleState({ pin: null }))).toThrow('without a pin');
  });
});

const definition = () => decodeDefinition(definitionOf(sampleState()));
