import { expect, it } from 'vitest';
import { planOf } from './plan.ts';

it('the same seed is the same plan, and another seed another one', () => {
  expect(planOf(7, { prepares: true })).toEqual(planOf(7, { prepares: true }));
  expect(planOf(7, { prepares: true })).not.toEqual(planOf(8, { prepares: true }));
});

it('no two sessions have the same plan', () => {
  const plans = planOf(7, { prepares: true }).map((transactions) => JSON.stringify(transactions));
  expect(new Set(plans).size).toBe(plans.length);
});

it('every kind of step and of end is in every plan', () => {
  for (let seed = 1; seed <= 100; seed += 1) {
    const transactions = planOf(seed, { prepares: true }).flat();
    const kinds = new Set(transactions.flatMap(({ steps }) => steps.map(({ kind }) => kind)));
    expect([...kinds].sort()).toEqual([
      'lock and publish',
      'pause',
      'publish',
      'release savepoint',
      'request job',
      'roll back to savepoint',
      'savepoint',
      'take id',
      'write',
    ]);
    expect(new Set(transactions.map(({ isolation }) => isolation)).size).toBe(3);
    expect(new Set(transactions.map(({ verdict }) => verdict)).size).toBe(2);
    expect(transactions.some(({ preparedForMs }) => preparedForMs !== undefined)).toBe(true);
  }
});

it('without preparing nothing is prepared', () => {
  const transactions = planOf(7, { prepares: false }).flat();
  expect(transactions.every(({ preparedForMs }) => preparedForMs === undefined)).toBe(true);
});
