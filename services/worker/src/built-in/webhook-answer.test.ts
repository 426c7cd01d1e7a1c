import { describe, expect, it } from 'vitest';
import { RETRY_AFTER_MS_MAX, WEBHOOK_BODY_CHARACTERS_MAX } from '../limits.ts';
import { beginningOf, faultOfAnswer, retryAfterMs } from './webhook-answer.ts';

const ORIGIN = 'http://sink.test:8080';
const answered = (status: number, more: { beginning?: string; location?: string } = {}) =>
  faultOfAnswer(ORIGIN, { status, location: more.location, beginning: more.beginning ?? '' });

describe('faultOfAnswer', () => {
  it.each([
    [408, 'transient'],
    [500, 'transient'],
    [502, 'transient'],
    [504, 'transient'],
    [429, 'unavailable'],
    [503, 'unavailable'],
    [301, 'config'],
    [307, 'config'],
    [400, 'data'],
    [401, 'data'],
    [404, 'data'],
    [422, 'data'],
  ])('takes %i for %s', (status, errorClass) => {
    expect(answered(status)).toMatchObject({ class: errorClass, context: { dependency: `webhook ${ORIGIN}` } });
  });

  it('tells what the server said of a record that it refuses', () => {
    expect(answered(422, { beginning: 'amount is negative' }).message).toBe(
      'http://sink.test:8080 answers 422: amount is negative',
    );
  });

  it('names where a redirect leads, and what to do', () => {
    expect(answered(302, { location: 'https://else.test' }).message).toMatch(
      /302 and redirects to https:\/\/else.test, which is not followed: submit the job again/,
    );
  });
});

describe('retryAfterMs', () => {
  const now = Date.parse('2026-03-01T00:00:00Z');
  it.each([
    [null, 0],
    ['7', 7_000],
    ['0', 0],
    ['Sun, 01 Mar 2026 00:00:30 GMT', 30_000],
    ['Sat, 28 Feb 2026 00:00:00 GMT', 0],
    ['soon', 0],
    ['999999999', RETRY_AFTER_MS_MAX],
  ])('reads %j as %i ms', (text, expected) => {
    expect(retryAfterMs(text, now)).toBe(expected);
  });
});

describe('beginningOf', () => {
  it('is one short line without control characters, of however long a body', async () => {
    expect(await beginningOf(new Response('no\u001b[2J such\r\n\tuser \u202e'))).toBe('no [2J such user');
    expect(await beginningOf(new Response('x'.repeat(100_000)))).toBe('x'.repeat(WEBHOOK_BODY_CHARACTERS_MAX));
    expect(await beginningOf(new Response(null))).toBe('');
  });

  it('says what came of a body that breaks off', async () => {
    let parts = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        parts += 1;
        if (parts === 1) controller.enqueue(Buffer.from('half'));
        else controller.error(new Error('reset'));
      },
    });
    expect(await beginningOf(new Response(body, { status: 400 }))).toBe('half');
  });
});
