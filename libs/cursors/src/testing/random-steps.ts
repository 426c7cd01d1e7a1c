/** Random histories of one job, as plain data. Ranges are named by how far they start above the base of the window. */
import fc from 'fast-check';
import { JobMode } from '../ports.ts';
import { FOR_LONG_MS } from './sample-jobs.ts';

export const OFFSET_MAX = 2n ** 63n - 1n;
/** Where the window begins: small, around the end of exact doubles, and near the end of int64. */
const BASES = [-1n, 2n ** 53n - 4n, 2n ** 62n, OFFSET_MAX - 20n];
const EPOCHS = [0n, 2n ** 53n - 2n, OFFSET_MAX - 40n];
/** An install has up to three ranges, of 1, 2 and 6 offsets: short, so that many histories finish some of them. */
export const STARTS = [0n, 1n, 3n];
export const SPAN = 9n;
/** There only after a split. */
const CHILDREN = [5n, 7n];
const NOWHERE = SPAN + 7n;

interface At {
  readonly slot: string;
  readonly range: bigint;
}

/** `age`: how many grants ago the slot got its token. */
interface Held extends At {
  readonly age: number;
}

export type Step =
  | (At & { readonly kind: 'lease'; readonly leaseTtlMs: number })
  | (Held & { readonly kind: 'renew'; readonly leaseTtlMs: number; readonly note: string })
  | (Held & { readonly kind: 'claim'; readonly upTo: bigint })
  | (Held & {
      readonly kind: 'advance';
      readonly fromShift: bigint;
      readonly by: bigint;
      /** Bit i: the record i above `from` is parked, when it is passed. */
      readonly parkBits: number;
      /** The same for those that are lost; what is parked is not. */
      readonly lostBits: number;
      readonly delayMs: number;
      readonly retries: bigint;
      readonly leaseTtlMs: number;
    })
  | (Held & {
      readonly kind: 'settle';
      /** Of the records that the player knows as parked, in turn: settle, lose, park again, or leave. */
      readonly fates: readonly ('settle' | 'lose' | 'again' | 'leave')[];
      /** Also one that nobody parked. */
      readonly stray: boolean;
      readonly delayMs: number;
      readonly leaseTtlMs: number;
    })
  | (Held & {
      readonly kind: 'release';
      readonly delayMs: number;
      readonly note: string;
      readonly untouched: boolean;
    })
  | (Held & { readonly kind: 'stop' })
  | { readonly kind: 'split'; readonly range: bigint; readonly at: bigint }
  | { readonly kind: 'parked'; readonly range: bigint }
  | { readonly kind: 'repeat'; readonly back: number }
  | {
      readonly kind: 'install';
      readonly epochShift: bigint;
      readonly mode: JobMode;
      /** Parked are the first records below the cursor, lost those that follow. */
      readonly progress: readonly (readonly [cursor: bigint, above: bigint, parked: bigint, lost: bigint])[];
    }
  | { readonly kind: 'setMode'; readonly mode: JobMode }
  | { readonly kind: 'candidates'; readonly limit: number }
  | { readonly kind: 'remove' };

export interface History {
  readonly base: bigint;
  readonly epoch: bigint;
  readonly steps: readonly Step[];
}

const slot = fc.constantFrom('a', 'b', 'c');
const range = fc.constantFrom(0n, 1n, 3n, 3n, 3n, 3n, ...CHILDREN, NOWHERE); // mostly the longest one
const age = fc.oneof(
  { weight: 5, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 2 }) },
);
const leaseTtlMs = fc.constantFrom(0, FOR_LONG_MS, FOR_LONG_MS);
const delayMs = fc.constantFrom(0, 0, FOR_LONG_MS);
const note = fc.constantFrom('', 'waiting', 'breaker öffnet "\\ \n');
const mode = fc.constantFrom(JobMode.running, JobMode.running, JobMode.running, JobMode.draining, JobMode.halted);

function kind<const Kind extends Step['kind']>(name: Kind): fc.Arbitrary<Kind> {
  return fc.constant(name);
}

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 60, arbitrary: fc.record({ kind: kind('lease'), slot, range, leaseTtlMs }) },
  { weight: 15, arbitrary: fc.record({ kind: kind('renew'), slot, range, age, leaseTtlMs, note }) },
  {
    weight: 80,
    arbitrary: fc.record({
      kind: kind('claim'),
      slot,
      range,
      age,
      upTo: fc.oneof(fc.constant(SPAN), fc.bigInt(-1n, SPAN + 1n)),
    }),
  },
  {
    weight: 120,
    arbitrary: fc.record({
      kind: kind('advance'),
      slot,
      range,
      age,
      fromShift: fc.constantFrom(0n, 0n, 0n, 0n, 1n, -1n),
      by: fc.constantFrom(1n, 1n, 2n, 2n, 4n, 5n, 0n, -1n),
      parkBits: fc.constantFrom(0, 0, 1, 2, 6, 63),
      lostBits: fc.constantFrom(0, 0, 0, 1, 5, 63),
      delayMs,
      retries: fc.constantFrom(0n, 3n, 2n ** 53n + 1n),
      leaseTtlMs,
    }),
  },
  {
    weight: 60,
    arbitrary: fc.record({
      kind: kind('settle'),
      slot,
      range,
      age,
      fates: fc.oneof(
        fc.constant(Array.from({ length: Number(SPAN) }, () => 'settle' as const)),
        fc.array(fc.constantFrom('settle', 'settle', 'lose', 'again', 'leave'), { maxLength: 4 }),
      ),
      stray: fc.constantFrom(false, false, false, false, true),
      delayMs,
      leaseTtlMs,
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({ kind: kind('release'), slot, range, age, delayMs, note, untouched: fc.boolean() }),
  },
  { weight: 3, arbitrary: fc.record({ kind: kind('stop'), slot, range, age }) },
  { weight: 25, arbitrary: fc.record({ kind: kind('split'), range, at: fc.constantFrom(0n, 4n, ...CHILDREN, SPAN) }) },
  { weight: 10, arbitrary: fc.record({ kind: kind('parked'), range }) },
  { weight: 50, arbitrary: fc.record({ kind: kind('repeat'), back: fc.integer({ min: 0, max: 4 }) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: kind('install'),
      epochShift: fc.constantFrom(-1n, 0n, 1n, 1n),
      mode,
      progress: fc.array(
        fc.tuple(fc.constantFrom(0n, 0n, 0n, 1n, 3n), fc.bigInt(0n, 3n), fc.bigInt(0n, 2n), fc.bigInt(0n, 2n)),
        {
          minLength: 1,
          maxLength: STARTS.length,
        },
      ),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: kind('setMode'), mode }) },
  // None or all: which of two that become free in the same moment comes first is for each clock to say.
  { weight: 6, arbitrary: fc.record({ kind: kind('candidates'), limit: fc.constantFrom(0, 100) }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('remove') }) },
);

export const history: fc.Arbitrary<History> = fc.record({
  base: fc.constantFrom(...BASES),
  epoch: fc.constantFrom(...EPOCHS),
  steps: fc.array(step, { minLength: 20, maxLength: 80, size: 'max' }),
});
