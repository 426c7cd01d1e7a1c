/**
 * The whole traversal from seeds. `TIDEMARK_SIM_SEEDS` runs more of them, `TIDEMARK_SIM_FROM` begins elsewhere.
 * A failing seed is run again with `node infra/simulation/src/main.ts --seed N --trace`.
 */
import { expect, it } from 'vitest';
import { audit } from './audit/auditor.ts';
import { coverageOf } from './coverage.ts';
import { simulate } from './simulate.ts';

const FROM = Number(process.env['TIDEMARK_SIM_FROM'] ?? 1);
const SEEDS = Number(process.env['TIDEMARK_SIM_SEEDS'] ?? 2_000);
/** Two thousand seeds take less than a minute of a core, of which there may be a fraction. */
const TIMEOUT_MS = 1_800_000;

/** What must have happened in at least one of a hundred seeds, else they would be too dull to prove anything. */
const EVERYDAY = [
  'takeover',
  'restore',
  'parked',
  'parked settled',
  'lost',
  'another attempt',
  'dead letter',
  'split: split',
  'split: refused',
  'advance: fenced',
  'claim: not running',
  'cut by the guard',
  'cut by a stranger',
  'process killed',
  'process stopped',
  'store emptied',
  'store restarted',
  'store rolled back',
  'job COMPLETED',
  'job CANCELLED',
  'job PAUSED',
  'job SUSPENDED',
] as const;

it(`P1 to P8 and P10: nothing is lost, repeated, overtaken or miscounted in ${SEEDS} seeded traversals`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const seedsWith = new Map<string, number>();
  for (let seed = FROM; seed < FROM + SEEDS; seed++) {
    const history = await simulate(seed);
    const faults = audit(history);
    if (faults.length > 0) throw new Error(report(seed, faults));
    for (const name of coverageOf(history).keys()) seedsWith.set(name, (seedsWith.get(name) ?? 0) + 1);
  }
  const rare = EVERYDAY.filter((name) => (seedsWith.get(name) ?? 0) < Math.floor(SEEDS / 100));
  expect(rare).toEqual([]);
});

it('the same seed is the same history', { timeout: TIMEOUT_MS }, async () => {
  for (const seed of [2, 14, 37]) {
    const [once, again] = [await simulate(seed), await simulate(seed)];
    expect(again.events.map(textOf)).toEqual(once.events.map(textOf));
  }
});

function report(seed: number, faults: readonly string[]): string {
  const how = `node infra/simulation/src/main.ts --seed ${seed} --trace`;
  return [`seed ${seed}:`, ...faults.map((fault) => `  ${fault}`), `Run it again: ${how}`].join('\n');
}

/** Lives of floors are random names, the same in nothing but their use. */
function textOf(event: object): string {
  return JSON.stringify(event, (name, value: unknown) => {
    if (name === 'life') return undefined;
    return typeof value === 'bigint' ? String(value) : value;
  });
}
