/** The scripts of the floors and the pure rules are one thing: random histories get the same answers and leave the same state. */
import { services, uniqueNamespace } from '@tidemark/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FloorLook, FloorStore } from '../../floor-ports.ts';
import { floorKey } from '../../keys.ts';
import { createMemoryFloorStore } from '../../testing/memory-floor-store.ts';
import { type FloorHistory, floorHistory, openingSteps, playFloorStep } from '../../testing/random-floor-calls.ts';
import { createRedisFloorStore } from './index.ts';
import { createTestAccess, HISTORIES_TIMEOUT_MS, PATIENT_MS, removeNamespace, type TestAccess } from './test-access.ts';

const RUNS = 200;

const url = services().redis;
const namespace = uniqueNamespace('floors');
let redis: FloorStore;
let access: TestAccess;
let places = 0;

beforeAll(async () => {
  redis = await createRedisFloorStore({ url, namespace, retryForMs: PATIENT_MS });
  access = createTestAccess(url);
});
afterAll(async () => {
  await redis.close();
  access.close();
  await removeNamespace(url, namespace);
});

it('Redis and its twin agree on every answer and every look', { timeout: HISTORIES_TIMEOUT_MS }, async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(floorHistory, (each) => playOnBoth(each, seen)),
    { numRuns: RUNS },
  );
  // Else the histories would be too dull to prove anything.
  expect([...seen].sort()).toEqual(
    expect.arrayContaining([
      ...['below mark', 'complete', 'confirmed', 'dropped', 'false', 'held', 'incomplete', 'installed', 'missing'],
      ...['proposed', 'raised', 'reserved', 'superseded', 'true', 'unknown holder', 'withheld'],
    ]),
  );
});

async function playOnBoth({ base, steps }: FloorHistory, seen: Set<string>): Promise<void> {
  places += 1;
  const place = { topic: 'orders', topicId: `id-${places}`, partition: 0 };
  const twin = createMemoryFloorStore({ now: Date.now });
  const onRedis = {
    place,
    base,
    lose: async () => {
      await access.command('DEL', floorKey(namespace, place));
    },
  };
  const onTwin = { place, base, lose: async () => twin.loseEverything() };
  for (const step of [...openingSteps, ...steps]) {
    // A reservation of 0 ms must have run out on both clocks when the next proposal looks.
    if (step.kind === 'propose') await new Promise((resolve) => setTimeout(resolve, 2));
    const [fromRedis, fromTwin] = [await playFloorStep(redis, onRedis, step), await playFloorStep(twin, onTwin, step)];
    expect({ step, answer: fromRedis }).toEqual({ step, answer: fromTwin });
    expect({ step, look: comparable(await redis.look(place)) }).toEqual({
      step,
      look: comparable(await twin.look(place)),
    });
    seen.add(kindOf(fromRedis));
  }
}

function kindOf(answer: unknown): string {
  return typeof answer === 'object' && answer !== null && 'kind' in answer ? String(answer.kind) : String(answer);
}

/** Two clocks: only whether a floor stays, has run out, or holds for long can be told. */
function comparable(look: FloorLook | undefined): unknown {
  return look === undefined
    ? undefined
    : {
        ...look,
        floors: look.floors.map(({ reservedUntilMs, ...floor }) => ({
          ...floor,
          until: reservedUntilMs === undefined ? 'ever' : reservedUntilMs > Date.now() + 60_000 ? 'later' : 'now',
        })),
      };
}
