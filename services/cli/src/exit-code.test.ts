import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { StackError } from '@tidemark/stack';
import { expect, it } from 'vitest';
import { CommandFailure, exitCodeOf, messageOf } from './exit-code.ts';

const tidemarkError = (code: string, errorClass: ErrorClass, message = 'so it is'): TidemarkError =>
  new TidemarkError({ code, class: errorClass, message });

it.each([
  ['a failure of the command', new CommandFailure(7, 'too late'), 7],
  ['a port that is taken, Java or Postgres that is missing', new StackError('port 19092 is taken'), 6],
  ['a service that is down', tidemarkError('KAFKA_UNAVAILABLE', ErrorClass.unavailable), 6],
  ['a bad setting', tidemarkError('BAD_CONFIG', ErrorClass.config), 2],
  ['a table that is not there', tidemarkError('NO_SUCH_TABLE', ErrorClass.config), 3],
  ['a table without a key', tidemarkError('KEY_UNFIT', ErrorClass.config), 5],
  ['an invariant that broke', tidemarkError('WHATEVER', ErrorClass.bug), 1],
  ['what nobody foresaw', new TypeError('x is not a function'), 1],
])('%s has its code', (_what, error, exitCode) => {
  expect(exitCodeOf(error)).toBe(exitCode);
});

it('tells expected faults as they are, says of others that they are ours, and names the way out of a missing outbox', () => {
  expect(messageOf(new StackError('port 19092 is taken'))).toBe('port 19092 is taken');
  expect(messageOf(new TypeError('x is not a function'))).toBe('internal error: x is not a function');
  expect(messageOf(tidemarkError('OUTBOX_NOT_INSTALLED', ErrorClass.config))).toBe(
    'so it is; "tidemark outbox install" creates the outbox',
  );
  const told = 'no outbox. Run "tidemark outbox install".';
  expect(messageOf(tidemarkError('OUTBOX_NOT_INSTALLED', ErrorClass.config, told))).toBe(told);
});
