import { type ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { classifyFault } from './fault.ts';

function nodeError(code: string, extra: object = {}): Error {
  return Object.assign(new Error(`connect ${code} 127.0.0.1:5432`), { code, ...extra });
}

function tidemarkError(errorClass: ErrorClass, context: Record<string, string> = {}): TidemarkError {
  return new TidemarkError({ code: 'SOME_CODE', class: errorClass, message: 'some text', context });
}

describe('classifyFault', () => {
  it('asks the handler first', () => {
    expect(classifyFault(nodeError('ECONNREFUSED'), () => 'data')).toMatchObject({ kind: 'data' });
    expect(classifyFault(new Error('rate limited'), () => 'unavailable')).toMatchObject({ kind: 'unavailable' });
  });

  it('goes on without a classify that throws or has no opinion', () => {
    const broken = () => {
      throw new Error('broken classify');
    };
    expect(classifyFault(tidemarkError('data'), broken)).toEqual({ kind: 'data', message: 'some text' });
    expect(classifyFault(tidemarkError('data'), () => undefined)).toEqual({ kind: 'data', message: 'some text' });
  });

  it.each([
    ['data', 'data'],
    ['transient', 'transient'],
    ['bug', 'transient'],
    ['lost', 'transient'],
    ['unavailable', 'unavailable'],
    ['config', 'unavailable'],
    ['fenced', 'fenced'],
  ] as const)('takes the class %s of a TidemarkError as %s', (errorClass, kind) => {
    expect(classifyFault(tidemarkError(errorClass)).kind).toBe(kind);
  });

  it('names the dependency from the context, the code or the address', () => {
    expect(classifyFault(tidemarkError('unavailable', { dependency: 'postgres' }))).toMatchObject({
      dependency: 'postgres',
    });
    expect(classifyFault(tidemarkError('unavailable'))).toMatchObject({ dependency: 'SOME_CODE' });
    expect(classifyFault(nodeError('ECONNREFUSED', { address: '127.0.0.1', port: 5432 }))).toMatchObject({
      dependency: 'ECONNREFUSED 127.0.0.1:5432',
    });
  });

  it.each(['ECONNRESET', 'EPIPE', 'EAI_AGAIN', '08006', '57P01', '53300'])(
    'takes the code %s as a dependency that is down',
    (code) => {
      expect(classifyFault(nodeError(code)).kind).toBe('unavailable');
    },
  );

  it.each(['23505', '40001', 'ERR_ASSERTION'])('takes the code %s as worth another try', (code) => {
    expect(classifyFault(nodeError(code)).kind).toBe('transient');
  });

  it('finds the connection error under a wrapper, and survives a circle of causes', () => {
    const wrapped = new TypeError('fetch failed', { cause: nodeError('ECONNREFUSED', { address: '::1', port: 80 }) });
    expect(classifyFault(wrapped)).toEqual({
      kind: 'unavailable',
      dependency: 'ECONNREFUSED ::1:80',
      message: 'fetch failed',
    });
    const circle = new Error('circle');
    circle.cause = circle;
    expect(classifyFault(circle).kind).toBe('transient');
  });

  it.each([undefined, null, 0, 'text', Symbol.iterator])('is total: %s', (thrown) => {
    expect(classifyFault(thrown).kind).toBe('transient');
  });

  it('keeps no more text than fits a note', () => {
    expect(classifyFault(new Error('x'.repeat(10_000)))).toMatchObject({ message: 'x'.repeat(200) });
  });
});
