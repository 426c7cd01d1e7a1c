/** Handlers whose course a test decides. */
import { existsSync } from 'node:fs';
import { defineHandler, done } from '@tidemark/handlers';
import { ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';

const LOOK_EVERY_MS = 20;

/** Of a record `bad` every attempt fails; `hold` stops there until the gate is open. All others are done. */
export const uneven = defineHandler({
  name: 'uneven',
  input: 'raw',
  idempotent: true,
  timeoutMs: 600_000,
  async handle({ value }, { parameters }) {
    const text = value?.toString();
    if (text === 'bad') throw new TidemarkError({ code: 'NEVER', class: ErrorClass.transient, message: 'not now' });
    while (text === 'hold' && !existsSync(parameters['gate'] ?? '')) await sleep(LOOK_EVERY_MS);
    return done();
  },
});

/** Waits until the file of its parameter `gate` is there, whatever the signal says, for longer than any test. */
export const gated = defineHandler({
  name: 'gated',
  input: 'raw',
  idempotent: true,
  timeoutMs: 600_000,
  async handle(_event, { parameters }) {
    while (!existsSync(parameters['gate'] ?? '')) await sleep(LOOK_EVERY_MS);
    return done();
  },
});

/** Fails until the gate is open, as something does that may succeed later. */
export const failing = defineHandler({
  name: 'failing',
  input: 'raw',
  idempotent: true,
  handle({ value }, { parameters }) {
    if (value?.toString().startsWith('bad') !== true || existsSync(parameters['gate'] ?? '')) return done();
    throw new TidemarkError({ code: 'TRY_LATER', class: ErrorClass.transient, message: 'not now' });
  },
});
