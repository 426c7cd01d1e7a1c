import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { defineHandler, done, idempotencyKey, missing, noneDue, present, skip, type Verify } from '../../index.ts';
import { checkVerify, eventsOf } from './index.ts';

const events = eventsOf(['good', 'small', 'bad', 'good'].map((text) => Buffer.from(text)));

/** Notes what is good, skips what is small, refuses what is bad. */
function check(verify: (sink: ReadonlySet<string>) => Verify<Buffer | null>): Promise<void> {
  const sink = new Set<string>();
  const handler = defineHandler({
    name: 'noting',
    input: 'raw',
    idempotent: true,
    handle(event) {
      const text = event.payload?.toString();
      if (text === 'small') return skip('small');
      if (text === 'bad') throw new TidemarkError({ code: 'BAD', class: ErrorClass.data, message: 'bad' });
      sink.add(idempotencyKey(event));
      return done();
    },
    verify: verify(sink),
  });
  return checkVerify(handler, { events, reset: () => sink.clear() });
}

it('takes a verify that knows what is there and what is not', async () => {
  await check((sink) => (asked) => asked.map((event) => (sink.has(idempotencyKey(event)) ? present() : missing())));
  await check(
    (sink) => (asked) => asked.map((event) => (sink.has(idempotencyKey(event)) ? present() : noneDue('small'))),
  );
});

it('finds one that says yes to everything, and one that does not find what is there', async () => {
  await expect(check(() => (asked) => asked.map(() => present()))).rejects.toThrow(
    'verify of noting tells it wrongly:\ntopic/0/0: present before it was handled\n',
  );
  await expect(check(() => (asked) => asked.map(() => missing()))).rejects.toThrow(
    'verify of noting tells it wrongly:\ntopic/0/0: missing after it was handled (done)\ntopic/0/3: missing after',
  );
});

it('names a verify that is not there, and one that does not answer for each', async () => {
  const handler = defineHandler({ name: 'mute', input: 'raw', idempotent: true, handle: () => done() });
  await expect(checkVerify(handler, { events, reset: () => {} })).rejects.toThrow('mute has no verify');
  await expect(check(() => () => [])).rejects.toThrow(
    /one of present.*for each of its 4 records; it returned a list of 0/,
  );
});
