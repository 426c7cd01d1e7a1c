import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { defineHandler, done, handlerDefaults, type RawHandler, shapeFaults } from '../index.ts';

const usable: RawHandler = { name: 'fan-out', input: 'raw', idempotent: true, handle: () => done() };

function faultsOf(change: object): readonly string[] {
  return shapeFaults({ ...usable, ...change });
}

describe('defineHandler', () => {
  it('returns the very handler it was given', () => {
    expect(defineHandler(usable)).toBe(usable);
  });

  it('types the payload of an avro handler', () => {
    const handler = defineHandler<{ readonly id: bigint }>({
      name: 'typed',
      input: 'avro',
      idempotent: true,
      handle: (event) =>
        event.payload === null || event.payload.id > 0n ? done() : { kind: 'skip', reason: 'negative' },
    });
    expect(handler.input).toBe('avro');
  });

  it.each(['Fan', 'fan out', '1fan', 'fan-', '', 'f'.repeat(65), 7, undefined])('refuses the name %j', (name) => {
    expect(faultsOf({ name })).toEqual([expect.stringContaining('name must be')]);
  });

  it.each(['count', 'im-fanout', 'orders.rebuild_v2'])('takes the name %j', (name) => {
    expect(faultsOf({ name })).toEqual([]);
  });

  it('wants exactly one of handle and handleBatch', () => {
    expect(faultsOf({ handle: undefined })).toEqual(['exactly one of handle and handleBatch is needed']);
    expect(faultsOf({ handleBatch: () => done() })).toEqual(['exactly one of handle and handleBatch is needed']);
  });

  it('lists every fault at once', () => {
    const error = catchError(() =>
      defineHandler({ name: 'X', input: 'json', handle: 5, concurrency: 0 } as object as RawHandler),
    );
    expect(error).toBeInstanceOf(TidemarkError);
    expect(error).toMatchObject({ code: 'BAD_HANDLER', class: ErrorClass.config });
    for (const part of [
      '"X"',
      'name must be',
      'input must be',
      'idempotent must be',
      'handle must be a function',
      'concurrency must be a whole number from 1 to 1000',
    ]) {
      expect((error as Error).message).toContain(part);
    }
  });

  it('takes a verify that is a function', () => {
    expect(faultsOf({ verify: () => [] })).toEqual([]);
    expect(faultsOf({ verify: true })).toEqual(['verify must be a function']);
  });

  it('refuses a concurrency that handleBatch would ignore', () => {
    expect(faultsOf({ handle: undefined, handleBatch: () => done(), concurrency: 4 })).toEqual([
      expect.stringContaining('no meaning'),
    ]);
  });

  it('refuses a batch size that handle would ignore, and takes one for handleBatch', () => {
    expect(faultsOf({ batchRecordsMax: 4 })).toEqual([expect.stringContaining('no meaning for handle,')]);
    const batch = { handle: undefined, handleBatch: () => done() };
    expect(faultsOf({ ...batch, batchRecordsMax: 4 })).toEqual([]);
    expect(faultsOf({ ...batch, batchRecordsMax: 0 })).toEqual([
      'batchRecordsMax must be a whole number from 1 to 100000',
    ]);
  });

  it.each([0, -1, 0.5, 1_000_001, Number.NaN, '10', null])('refuses the rate %j', (rate) => {
    expect(faultsOf({ rate })).toEqual(['rate must be a whole number from 1 to 1000000']);
  });

  it.each([undefined, 1, 1_000_000])('takes the rate %j', (rate) => {
    expect(faultsOf({ rate })).toEqual([]);
  });

  it.each([null, undefined, 3, 'handler'])('says of %j that it is no handler', (candidate) => {
    expect(shapeFaults(candidate)).toEqual([expect.stringContaining('a handler is an object')]);
  });

  it('fills in the optional numbers', () => {
    expect(handlerDefaults(usable)).toEqual({ concurrency: 1, timeoutMs: 30_000 });
    expect(handlerDefaults({ ...usable, concurrency: 8, timeoutMs: 50 })).toEqual({ concurrency: 8, timeoutMs: 50 });
  });
});

function catchError(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
