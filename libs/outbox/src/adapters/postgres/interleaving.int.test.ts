/**
 * P9 under random interleavings. `TIDEMARK_OUTBOX_SEED` repeats one seed; `TIDEMARK_OUTBOX_SECONDS` tries more of them.
 */
import process from 'node:process';
import { services, uniqueNamespace } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import {
  checkInterleaving,
  describeFaults,
  type InterleavingRun,
  PLANTS,
  type Plant,
} from '../../testing/interleaving/index.ts';

const GIVEN_SEED = process.env['TIDEMARK_OUTBOX_SEED'];
const FIRST_SEED = Number(GIVEN_SEED ?? Date.now() % 1_000_000_000);
const SECONDS = Number(process.env['TIDEMARK_OUTBOX_SECONDS'] ?? 10);

/** A slow machine gets through one or two while a fast one has seen everything happen. */
const SEEDS_MAX = 10;

/** Measured: nearly always the first finds it. The timing of the server has its say, and one fault may be all there is. */
const PLANT_SEEDS_MAX = 20;

function run(seed: number, plant: Plant = {}): Promise<InterleavingRun> {
  return checkInterleaving({ url: services().postgres, namespace: uniqueNamespace('interleaving'), seed, plant });
}

it(`P9: every committed row once, in the order of its key's locks, from seed ${FIRST_SEED} on`, {
  timeout: (SECONDS + 230) * 1_000,
}, async () => {
  const seen = new Map<string, number>();
  // A run in which one of them does not happen proves little.
  const missing = () => [...seen].filter(([, count]) => count === 0).map(([name]) => name);
  const endMs = performance.now() + SECONDS * 1_000;
  for (let seed = FIRST_SEED; ; seed += 1) {
    const { faults, happened } = await run(seed);
    if (faults.length > 0) expect.fail(`TIDEMARK_OUTBOX_SEED=${seed}: ${describeFaults(faults)}`);
    for (const [name, count] of Object.entries(happened)) seen.set(name, (seen.get(name) ?? 0) + count);
    if (GIVEN_SEED !== undefined) break;
    if (performance.now() >= endMs && (missing().length === 0 || seed >= FIRST_SEED + SEEDS_MAX)) break;
  }
  expect(missing()).toEqual([]);
});

// Each has a schema of its own, and mostly waits.
it.concurrent.each([
  ['order by (txid, position)', 'overtaken'],
  ['a window by xmin', 'overtaken'],
  ['a cursor on position', 'lost'],
  ['NEW instead of the row', 'stale'],
  ['publish without the lock', 'overtaken'],
  ['clean-up below xmax', 'lost'],
] as const)('P9: the checker finds %s, planted', async (plant, kind) => {
  for (let seed = 1; seed <= PLANT_SEEDS_MAX; seed += 1) {
    const { faults } = await run(seed, PLANTS[plant]);
    if (faults.some((fault) => fault.kind === kind)) return;
  }
  expect.fail(`${PLANT_SEEDS_MAX} seeds have not found it`);
});
