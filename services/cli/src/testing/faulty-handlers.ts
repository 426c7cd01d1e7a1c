/** Handlers that a worker of the tests loads beside the built-in ones. */
import { defineHandler, done } from '@tidemark/handlers';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';

/** Takes everything but a value that begins with `bad`. */
export const picky = defineHandler({
  name: 'picky',
  input: 'raw',
  idempotent: true,
  handle({ value }) {
    if (value?.toString().startsWith('bad') !== true) return done();
    throw new TidemarkError({ code: 'BAD_VALUE', class: ErrorClass.data, message: 'a bad value' });
  },
});

/** Must not get a record twice. */
export const once = defineHandler({ name: 'once', input: 'raw', idempotent: false, handle: () => done() });
