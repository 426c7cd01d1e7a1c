import { expect, it } from 'vitest';
import { createRoles } from './roles.ts';

const roles = createRoles([
  { name: 'anna', token: 'a-token-of-anna-1' },
  { name: 'bert', token: 'a-token-of-bert-1' },
]);
const callerOf = (authorization?: string) =>
  roles.callerOf({ headers: authorization === undefined ? {} : { authorization } });

it('an operator is whoever has the token of one, and nobody else', () => {
  expect(callerOf('Bearer a-token-of-bert-1')).toEqual({ role: 'operator', name: 'bert' });
  expect(callerOf('bearer a-token-of-anna-1')).toEqual({ role: 'operator', name: 'anna' });
  expect(callerOf()).toEqual({ role: 'viewer' });
  for (const wrong of ['', 'Bearer', 'Bearer ', 'Bearer a-token-of-anna', 'Basic a-token-of-anna-1', 'anna'])
    expect(callerOf(wrong), wrong).toEqual({ role: 'unknown token' });
});

it('without operators nobody is one, whatever he sends', () => {
  const none = createRoles([]);
  expect(none.hasOperators).toBe(false);
  expect(none.callerOf({ headers: { authorization: 'Bearer ' } })).toEqual({ role: 'unknown token' });
});
