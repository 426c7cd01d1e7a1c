/** What every session will do, drawn from the seed before anything runs. Only the timing is left to the server. */
import { type Chance, chanceOf } from '@tidemark/testkit/chance';
import {
  HOLD_MS,
  HOTTEST,
  KEYS,
  LARGE_ONE_IN,
  NOTED_AFTER_MS_MAX,
  PAUSE_MS_MAX,
  SESSIONS,
  STEPS_MAX,
  TRANSACTIONS_EACH,
} from './limits.ts';

/** Captured tables, each with another lock that orders the writers of a key: see the stage. */
export const TABLES = ['items', 'slots', 'entries'] as const;
export type Table = (typeof TABLES)[number];
const VERBS = ['put', 'put', 'update', 'update', 'update', 'delete', 'move'] as const;
const ISOLATIONS = [
  ...Array.from({ length: 8 }, () => 'read committed' as const),
  'repeatable read',
  'serializable',
] as const;

export type Step =
  | { readonly kind: 'pause'; readonly ms: number }
  /** Otherwise an id is drawn by the first statement that writes. */
  | { readonly kind: 'take id' }
  | { readonly kind: 'publish'; readonly key: string; readonly notedAfterMs: number; readonly isLarge: boolean }
  /** Locks a row of the application, and publishes later without the outbox's own lock. */
  | { readonly kind: 'lock and publish'; readonly key: string; readonly afterMs: number; readonly isLarge: boolean }
  | { readonly kind: 'request job' }
  | {
      readonly kind: 'write';
      readonly table: Table;
      readonly verb: (typeof VERBS)[number];
      readonly key: string;
      readonly to: string;
      readonly value: number;
      readonly notedAfterMs: number;
    }
  | { readonly kind: 'savepoint' }
  /** Of the newest savepoint; nothing without one. */
  | { readonly kind: 'roll back to savepoint' }
  | { readonly kind: 'release savepoint' };

export type Verdict = 'commit' | 'rollback';

export interface TransactionPlan {
  readonly isolation: (typeof ISOLATIONS)[number];
  readonly steps: readonly Step[];
  /** What is refused by the server is undone up to the newest savepoint, if there is one; else all of it. */
  readonly recovers: boolean;
  /** Undefined: ended by the session itself. Otherwise it is prepared, and ended by another session after so long. */
  readonly preparedForMs: number | undefined;
  readonly verdict: Verdict;
}

export interface PlanOptions {
  /** Without: PREPARE TRANSACTION flushes the log, which a test of unflushed commits must not. */
  readonly prepares: boolean;
}

/** One list of transactions for each session. */
export function planOf(seed: number, { prepares }: PlanOptions): readonly (readonly TransactionPlan[])[] {
  const chance = chanceOf(seed);
  return Array.from({ length: SESSIONS }, (_, session) => {
    const own = chance.fork(`session ${session}`);
    return Array.from({ length: TRANSACTIONS_EACH }, () => transactionOf(own, prepares));
  });
}

function transactionOf(chance: Chance, prepares: boolean): TransactionPlan {
  const steps: Step[] = chance.oneIn(2) ? [{ kind: 'take id' }] : [];
  const count = chance.between(1, STEPS_MAX);
  // A few transactions stay open while many others begin and end.
  const heldAt = chance.oneIn(8) ? chance.below(count + 1) : -1;
  for (let i = 0; i < count; i += 1) {
    steps.push({ kind: 'pause', ms: i === heldAt ? chance.between(...HOLD_MS) : chance.below(PAUSE_MS_MAX + 1) });
    steps.push(stepOf(chance));
  }
  const lastMs = count === heldAt ? chance.between(...HOLD_MS) : chance.below(PAUSE_MS_MAX + 1);
  steps.push({ kind: 'pause', ms: lastMs });
  return {
    isolation: chance.pick(ISOLATIONS),
    steps,
    recovers: chance.oneIn(2),
    preparedForMs: prepares && chance.oneIn(8) ? chance.below(HOLD_MS[0]) : undefined,
    verdict: chance.oneIn(6) ? 'rollback' : 'commit',
  };
}

function stepOf(chance: Chance): Step {
  const key = chance.pick(KEYS);
  // The lock is held meanwhile; where it were not, another would come in between.
  const notedAfterMs = chance.oneIn(3) ? chance.below(NOTED_AFTER_MS_MAX + 1) : 0;
  const isLarge = chance.oneIn(LARGE_ONE_IN);
  switch (chance.below(13)) {
    case 0:
    case 1:
      return { kind: 'savepoint' };
    case 2:
      return { kind: 'roll back to savepoint' };
    case 3:
      return { kind: 'release savepoint' };
    case 4:
    case 5:
      return { kind: 'publish', key: chance.pick(HOTTEST), notedAfterMs, isLarge };
    case 6:
    case 7:
      return { kind: 'lock and publish', key, afterMs: chance.below(PAUSE_MS_MAX + 1), isLarge };
    case 8:
      return { kind: 'request job' };
    default: {
      const [table, verb] = [chance.pick(TABLES), chance.pick(VERBS)];
      return { kind: 'write', table, verb, key, to: chance.pick(KEYS), value: chance.below(1_000), notedAfterMs };
    }
  }
}
