/** The auditor is worth what it finds: each planted bug, within a few seeds. */
import { expect, it } from 'vitest';
import { audit } from './audit/auditor.ts';
import { PLANTED_BUGS, type Plant } from './planted-bugs.ts';
import { simulate } from './simulate.ts';

/** Measured: the last is found after three hundred seeds, most after a few. What changes the order of calls moves them. */
const SEEDS_MAX = 1_000;
const TIMEOUT_MS = 600_000;

/** What the auditor must say about each. */
const SAID: Readonly<Record<keyof typeof PLANTED_BUGS, RegExp>> = {
  'the cursor passes a record that nobody settled':
    /P4 the cursor of .* passed \d+, which is neither settled nor parked/,
  'the token is not checked': /P5 \w+ on .* was accepted of .*, the youngest is/,
  'the owner of a range that was cut goes on to its old end': /P5 .* is handed out under .*, which claimed up to/,
  'a range is checkpointed without the one that was cut off it': /P8 the checkpoint of .* is done at \d+, its end is/,
  'a floor is raised to what only the store knows': /P7 the floor of .* is \d+, a restore needs \d+/,
  'what is being worked on is not checkpointed': /P8 the checkpoint of .* when the store is lost/,
  'one settled record is not counted': /P10 .* its totals explain/,
  'the prefix forgets to park': /P4 the cursor of .* passed \d+, which is neither settled nor parked/,
  'the horizon is claimed only when the cursor moves': /P5 .* is handed out under .*, which claimed up to/,
  'a restore puts tokens back as they were': /P5 .* is granted under .* after/,
  'a mark is only in the store': /P7 cut below \d+ in .*, .* needs \d+/,
  'a job is done while records are parked':
    /P8 the checkpoint of .* is done|P1 .* was never settled|P7 the floor of .* is/,
  'a restore forgets which offsets were lost': /P10 .* counts \d+ lost offsets and names \d+/,
  'a lost offset is named beside its place': /P7 .* was neither settled nor named as lost/,
  'a repeated advance is counted twice': /P10 .* its totals explain/,
  'a job that is halted goes on': /is (PAUSED|SUSPENDED|CANCELLED), and .* it$/,
  'a range is given back as untouched whatever was handed out': /P10 .* records again, and says that it may have been/,
  'a worker trusts its lease for ever': /P5 .* is handed out under .*, after .* was granted/,
  'records of a key are handled at the same time': /P6 .* is handed out before \d+ is settled/,
  'a dead letter counts before it is safe':
    /P4 .* which is neither settled nor parked|P4 .* parks \d+ no more, and it is not settled/,
};

it('the auditor has an expectation for each planted bug, and there are at least twelve', () => {
  expect(Object.keys(SAID).sort()).toEqual(Object.keys(PLANTED_BUGS).sort());
  expect(Object.keys(PLANTED_BUGS).length).toBeGreaterThanOrEqual(12);
});

it.each(Object.entries(PLANTED_BUGS))('found: %s', { timeout: TIMEOUT_MS }, async (name, plant) => {
  expect(await firstSeed(plant, SAID[name])).toBeLessThanOrEqual(SEEDS_MAX);
});

async function firstSeed(plant: Plant, said: RegExp | undefined): Promise<number> {
  for (let seed = 1; seed <= SEEDS_MAX; seed++) {
    const faults = audit(await simulate(seed, { variant: plant() }));
    if (faults.some((fault) => said?.test(fault))) return seed;
  }
  return Number.POSITIVE_INFINITY;
}
