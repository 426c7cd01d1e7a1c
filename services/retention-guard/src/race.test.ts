/** Job requests against the guard, under losses of the store, takeovers and running-out reservations, in seeded order. */
import { expect, it } from 'vitest';
import type { GuardParts } from './parts.ts';
import type { Variant } from './testing/race/actors.ts';
import { race } from './testing/race/race.ts';
import type { Counts } from './testing/race/world.ts';

const RACES = 1_000;
/** The group is one more floor; what it adds shows soon. */
const RACES_WITH_GROUP = 100;
/** A hold is one more floor, too, which outlives its job and is put back by other code. */
const RACES_WITH_HOLDS = 300;
/** A planted bug must show within this many races. */
const RACES_TO_FIND_A_BUG = 1_000;
/** A thousand races take a minute of a core, of which there may be a fraction. */
const TIMEOUT_MS = 1_200_000;

it('P7: every job reads its whole window or is refused, in 1,000 interleavings of requests, guards and losses', {
  timeout: TIMEOUT_MS,
}, async () => {
  const total = new Map<string, number>();
  for (let seed = 1; seed <= RACES; seed++) {
    const counts = await race(seed).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error });
    });
    for (const [name, count] of Object.entries(counts) as [keyof Counts, number][])
      total.set(name, (total.get(name) ?? 0) + count);
  }
  // Else the races would be too dull to prove anything.
  total.delete('released');
  for (const [name, count] of total) expect({ name, enough: count >= 10 }).toEqual({ name, enough: true });
});

it('P7: and beside a named consumer group, below whose offset nothing goes', { timeout: TIMEOUT_MS }, async () => {
  let cuts = 0;
  for (let seed = 1; seed <= RACES_WITH_GROUP; seed++) {
    const counts = await race(seed, { withGroup: true }).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error });
    });
    cuts += counts.cuts;
  }
  expect(cuts).toBeGreaterThan(RACES_WITH_GROUP);
});

it('P7: and with windows that are held for audits, until they are released', { timeout: TIMEOUT_MS }, async () => {
  const total = { cuts: 0, released: 0 };
  for (let seed = 1; seed <= RACES_WITH_HOLDS; seed++) {
    const { cuts, released } = await race(seed, { withHolds: true }).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error });
    });
    total.cuts += cuts;
    total.released += released;
  }
  expect(total.cuts).toBeGreaterThan(RACES_WITH_HOLDS);
  expect(total.released).toBeGreaterThan(RACES_WITH_HOLDS);
});

// Each is first looked for near a seed that found it; whatever changes the order of turns moves it.
it.each<[string, Variant, number]>([
  [
    'does not ask the store again before it cuts',
    { guard: (parts) => ({ ...parts, floors: { ...parts.floors, holdsMark: async () => true } }) },
    1,
  ],
  ['cuts before its mark is durable', { guard: withoutDurableMarks }, 201],
  [
    'does not insist on the floors of unfinished jobs',
    {
      guard: (parts) => ({ ...parts, jobs: { jobsAndSeries: async () => ({ states: new Map(), series: new Map() }) } }),
    },
    1,
  ],
  ['does not ask where a group goes on', { withGroup: true, guard: (parts) => ({ ...parts, groups: new Map() }) }, 1],
  ['does not insist on the floors of holds', { withHolds: true, guard: withoutHolds }, 1],
  ['raises a floor to what the store shows', { raiseOrder: 'store only' }, 1],
  ['reads the store before the acknowledged checkpoint', { raiseOrder: 'store, acknowledged' }, 501],
])('the auditor finds it when somebody %s', { timeout: TIMEOUT_MS }, async (_, variant, firstSeed) => {
  const found = await firstViolation(variant, firstSeed);
  expect(found?.message).toMatch(/^AUDIT: /);
});

async function firstViolation(variant: Variant, firstSeed: number): Promise<Error | undefined> {
  for (let seed = firstSeed; seed < firstSeed + RACES_TO_FIND_A_BUG; seed++) {
    const failure = await race(seed, variant).then(
      () => undefined,
      (error: Error) => error,
    );
    if (failure !== undefined) return failure;
  }
  return undefined;
}

/** As if nobody had asked for one. */
function withoutHolds(parts: GuardParts): GuardParts {
  return {
    ...parts,
    jobs: {
      jobsAndSeries: async () => {
        const { states, series } = await parts.jobs.jobsAndSeries();
        const unheld = [...states].map(([jobId, state]) => [jobId, { ...state, heldForAuditUntilMs: 0n }] as const);
        return { states: new Map(unheld), series };
      },
    },
  };
}

/** Marks that only the guard believes to be in Kafka. */
function withoutDurableMarks(parts: GuardParts): GuardParts {
  const written = new Map<
    string,
    Parameters<Awaited<ReturnType<GuardParts['marks']['openSession']>>['write']>[0][number]
  >();
  return {
    ...parts,
    marks: {
      ...parts.marks,
      load: async () => {
        const durable = await parts.marks.load();
        return { ...durable, marks: new Map([...durable.marks, ...written]) };
      },
      openSession: async () => ({
        write: async (marks) => {
          for (const mark of marks) written.set(`${mark.topic}/${mark.topicId}/${mark.partition}`, mark);
        },
        watch: async () => undefined,
        close: async () => undefined,
      }),
    },
  };
}
