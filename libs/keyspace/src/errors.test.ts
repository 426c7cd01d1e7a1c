import { describe, expect, it } from 'vitest';
import { assertNever } from './assert-never.ts';
import { describeError, ErrorClass, TidemarkError } from './errors.ts';

describe('errors', () => {
  it('keep code, class, context and cause', () => {
    const cause = new Error('below');
    const error = new TidemarkError({
      code: 'X',
      class: ErrorClass.data,
      message: 'what',
      context: { offset: 5n },
      cause,
    });
    expect(error).toMatchObject({
      name: 'TidemarkError',
      code: 'X',
      class: 'data',
      message: 'what',
      context: { offset: 5n },
      cause,
    });
    expect(new TidemarkError({ code: 'X', class: ErrorClass.bug, message: 'm' })).toMatchObject({ context: {} });
  });

  it('anything thrown has a text', () => {
    class Quiet extends Error {
      override readonly name = 'Quiet';
    }
    expect([
      describeError(new Error('m')),
      describeError(new Quiet()),
      describeError(undefined),
      describeError(5n),
    ]).toEqual(['m', 'Quiet', 'undefined', '5']);
  });

  it('an impossible case is loud', () => {
    expect(() => assertNever('surprise' as never)).toThrow(/surprise/);
  });
});
