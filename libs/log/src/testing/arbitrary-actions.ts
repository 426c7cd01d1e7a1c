/** Random interleavings for the property tests. */
import fc from 'fast-check';
import type { Action } from './model-log.ts';

export interface ActionBounds {
  readonly producers: number;
  readonly actionsMax: number;
  readonly recordsMax: number;
}

export function arbitraryActions(bounds: ActionBounds): fc.Arbitrary<Action[]> {
  const producer = fc.integer({ min: 1, max: bounds.producers });
  const records = fc.integer({ min: 1, max: bounds.recordsMax });
  const outcome = fc.constantFrom('abort' as const, 'commit' as const);
  const action = fc.oneof(
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('send' as const), producer, records }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('end' as const), producer, outcome }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('plain' as const), records }) },
  );
  return fc.array(action, { maxLength: bounds.actionsMax });
}
