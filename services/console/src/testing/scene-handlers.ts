/** Handlers of the scene: one that takes its time, one that refuses, one that puts records off, one whose service is down. Their errors speak markup. */
import { setTimeout as delay } from 'node:timers/promises';
import { defineHandler, done, skip } from '@tidemark/handlers';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { HOSTILE } from './hostile.ts';

const SLOW_MS = 4;

export const slow = defineHandler({
  name: 'slow',
  input: 'raw',
  idempotent: true,
  async handle(_event, { signal }) {
    // A job that is under way while a test looks at it.
    await delay(SLOW_MS, undefined, { signal }).catch(() => {});
    return done();
  },
});

export const picky = defineHandler({
  name: 'picky',
  input: 'raw',
  idempotent: true,
  handle({ value }) {
    const text = value?.toString() ?? '';
    if (text.startsWith('skip')) return skip('not wanted');
    if (!text.startsWith('bad')) return done();
    throw new TidemarkError({ code: 'BAD_VALUE', class: ErrorClass.data, message: `a bad value: ${HOSTILE}` });
  },
});

export const flaky = defineHandler({
  name: 'flaky',
  input: 'raw',
  idempotent: true,
  handle({ value }) {
    if (value?.toString().startsWith('later') !== true) return done();
    throw new TidemarkError({ code: 'NOT_NOW', class: ErrorClass.transient, message: `not now: ${HOSTILE}` });
  },
});

export const down = defineHandler({
  name: 'down',
  input: 'raw',
  idempotent: true,
  handle() {
    throw new TidemarkError({
      code: 'SINK_DOWN',
      class: ErrorClass.unavailable,
      message: `the sink is down: ${HOSTILE}`,
      context: { dependency: HOSTILE },
    });
  },
});
