/**
 * P9 under random interleavings, over relays that are killed, stopped, continued and overtaken, and judged by what
 * stands in the topics. `TIDEMARK_RELAY_SEED` repeats one seed; `TIDEMARK_RELAY_SECONDS` tries more of them.
 */
import process from 'node:process';
import { createCodec } from '@tidemark/contracts/registry';
import { checkInterleaving, describeFaults, type InterleavingRun } from '@tidemark/outbox/testing';
import { type PrivatePostgres, privatePostgres, services, uniqueNamespace } from '@tidemark/testkit';
import { describe, expect, it } from 'vitest';
import { byRelay } from './testing/interleaving/delivery.ts';
import { RELAY_PLANTS, type RelayPlant } from './testing/interleaving/plants.ts';

const GIVEN_SEED = process.env['TIDEMARK_RELAY_SEED'];
const FIRST_SEED = Number(GIVEN_SEED ?? Date.now() % 1_000_000_000);
/** By default one seed of each kind. */
const SECONDS = Number(process.env['TIDEMARK_RELAY_SECONDS'] ?? 0);

/** Measured: the first finds it, but the timing has its say. */
const PLANT_SEEDS_MAX = 10;

function run(
  seed: number,
  { plant, postgres }: { plant?: RelayPlant; postgres?: PrivatePostgres },
): Promise<InterleavingRun> {
  const { kafka, registry, postgres: shared } = services();
  return checkInterleaving({
    url: postgres?.address ?? shared,
    namespace: uniqueNamespace('interleaving'),
    seed,
    delivery: byRelay({ kafka, codec: createCodec({ registryUrl: registry }), ...(plant && { plant }) }),
    ...(postgres && {
      server: { crash: () => postgres.stopImmediate(), restart: () => postgres.start(), crashes: 2 },
    }),
  });
}

/** Returns what has happened in all of them. */
async function runSeeds(postgres?: PrivatePostgres): Promise<ReadonlyMap<string, number>> {
  const seen = new Map<string, number>();
  const endMs = performance.now() + SECONDS * 1_000;
  for (let seed = FIRST_SEED; ; seed += 1) {
    const { faults, happened } = await run(seed, postgres === undefined ? {} : { postgres });
    if (faults.length > 0) expect.fail(`TIDEMARK_RELAY_SEED=${seed}: ${describeFaults(faults)}`);
    for (const [name, count] of Object.entries(happened)) seen.set(name, (seen.get(name) ?? 0) + count);
    if (GIVEN_SEED !== undefined || performance.now() >= endMs) return seen;
  }
}

// A dozen seconds on a quiet machine; a busy one takes many times as long.
const timeout = (SECONDS + 600) * 1_000;

// Each has relays, topics and a schema of its own, and mostly waits.
describe('P9: relays that are killed, stopped and overtaken', { concurrent: true, timeout }, () => {
  it(`every committed row once in its topic, in the order of its key's locks, from seed ${FIRST_SEED} on`, async () => {
    const seen = await runSeeds();
    // One run may lack one of them.
    const missing = [...seen].filter(([, count]) => count === 0).map(([name]) => name);
    expect(SECONDS > 60 ? missing : []).toEqual([]);
    expect(seen.get('rows')).toBeGreaterThan(100);
  });

  it(`the same while Postgres crashes, from seed ${FIRST_SEED} on`, async ({ onTestFinished }) => {
    // Nothing is flushed but by who asks for it.
    const postgres = await privatePostgres({ settings: { synchronous_commit: 'off', wal_writer_delay: '10s' } });
    onTestFinished(() => postgres.stop());
    expect((await runSeeds(postgres)).get('rows')).toBeGreaterThan(50);
  });

  it.each([
    ['the position committed before its events', 'lost'],
    ['the position committed after its events', 'repeated'],
    ['a request ahead of its batch', 'request too early'],
    ['no fence', 'repeated'],
    ['the position read before the fence', 'repeated'],
    ['clean-up of rows that wait', 'lost'],
  ] as const)('the checker finds %s, planted', async (plant, kind) => {
    for (let seed = 1; seed <= PLANT_SEEDS_MAX; seed += 1) {
      const { faults } = await run(seed, { plant: RELAY_PLANTS[plant] });
      if (faults.some((fault) => fault.kind === kind)) return;
    }
    expect.fail(`${PLANT_SEEDS_MAX} seeds have not found it`);
  });
});
