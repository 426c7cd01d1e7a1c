/** P9 under random interleavings on a server that crashes. `TIDEMARK_OUTBOX_SEED` repeats a seed. */
import process from 'node:process';
import { type PrivatePostgres, privatePostgres, uniqueNamespace } from '@tidemark/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  checkInterleaving,
  describeFaults,
  type InterleavingRun,
  PLANTS,
  type Plant,
} from '../../testing/interleaving/index.ts';

const SEED = Number(process.env['TIDEMARK_OUTBOX_SEED'] ?? Date.now() % 1_000_000_000);
/** Measured: in 13 of 16 seeds a crash takes something back that was told. */
const PLANT_SEEDS_MAX = 10;

let postgres: PrivatePostgres;
beforeAll(async () => {
  // Nothing is flushed but by who asks for it.
  postgres = await privatePostgres({ settings: { synchronous_commit: 'off', wal_writer_delay: '10s' } });
});
afterAll(() => postgres?.stop());

function run(seed: number, plant: Plant = {}): Promise<InterleavingRun> {
  return checkInterleaving({
    url: postgres.address,
    namespace: uniqueNamespace('interleaving'),
    seed,
    plant,
    server: { crash: () => postgres.stopImmediate(), restart: () => postgres.start(), crashes: 3 },
  });
}

it(`P9: what is told outlives crashes of Postgres, and what outlives them is told, seed ${SEED}`, async () => {
  const { faults, happened } = await run(SEED);
  if (faults.length > 0) expect.fail(`TIDEMARK_OUTBOX_SEED=${SEED}: ${describeFaults(faults)}`);
  expect(happened.rows).toBeGreaterThan(50);
});

it('P9: the checker finds a missing wait for the flush, planted', async () => {
  for (let seed = 1; seed <= PLANT_SEEDS_MAX; seed += 1) {
    const { faults } = await run(seed, PLANTS['no wait for the flush']);
    if (faults.some(({ kind }) => kind === 'never committed')) return;
  }
  expect.fail(`${PLANT_SEEDS_MAX} seeds have not found it`);
});
