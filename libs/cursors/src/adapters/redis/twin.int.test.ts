/** The scripts and the pure rules are one thing: random histories get the same answers and leave the same state. */
import { services, uniqueNamespace } from '@tidemark/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CursorStore } from '../../ports.ts';
import { createMemoryCursorStore } from '../../testing/memory-cursor-store.ts';
import { createPlayer } from '../../testing/random-calls.ts';
import { type History, history, SPAN, type Step } from '../../testing/random-steps.ts';
import { FOR_LONG_MS } from '../../testing/sample-jobs.ts';
import { createRedisCursorStore } from './index.ts';
import { HISTORIES_TIMEOUT_MS, PATIENT_MS, removeNamespace } from './test-access.ts';

const RUNS = 150;
const TIMES = new Set(['readyAtMs', 'leaseUntilMs', 'notBeforeMs', 'noteSinceMs', 'dueAtMs']);

const url = services().redis;
const namespace = uniqueNamespace('twin');
let redis: CursorStore;
let jobs = 0;

beforeAll(async () => {
  redis = await createRedisCursorStore({ url, namespace, retryForMs: PATIENT_MS });
});
afterAll(async () => {
  await redis.close();
  await removeNamespace(url, namespace);
});

const at = { slot: 'a', age: 0, leaseTtlMs: FOR_LONG_MS };
/** How ranges end: by chance that is rare, and may not come in a run. The first has a parked record left, the last nothing done. */
const endings: History = {
  base: -1n,
  epoch: 0n,
  steps: [
    { ...at, kind: 'lease', range: 0n },
    { ...at, kind: 'settle', range: 0n, fates: ['lose'], stray: false, delayMs: 0 },
    { ...at, kind: 'lease', range: 1n },
    { ...at, kind: 'stop', range: 1n },
    { ...at, kind: 'lease', range: 3n },
    { ...at, kind: 'claim', range: 3n, upTo: SPAN },
    { ...at, kind: 'advance', range: 3n, fromShift: 0n, by: 6n, parkBits: 0, lostBits: 6, delayMs: 0, retries: 0n },
  ],
};

it('Redis and its twin agree on every answer and every snapshot', { timeout: HISTORIES_TIMEOUT_MS }, async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(history, (each) => playOnBoth(each, seen)),
    { numRuns: RUNS, examples: [[endings]] },
  );
  // Else the histories would be too dull to prove anything.
  expect([...seen].sort()).toEqual(
    expect.arrayContaining([
      ...['advanced', 'advanced: done', 'busy', 'claimed', 'closed', 'cursor moved', 'fenced', 'granted', 'incomplete'],
      ...['installed', 'not parked', 'not running', 'out of bounds', 'released', 'renewed', 'settled', 'settled: done'],
      ...['split', 'refused: claimed', 'refused: closed', 'refused: outside', 'stale epoch', 'stopped'],
    ]),
  );
});

async function playOnBoth({ base, epoch, steps }: History, seen: Set<string>): Promise<void> {
  jobs += 1;
  const jobId = `job-${jobs}`;
  const twin = createMemoryCursorStore({ now: Date.now });
  const players = [redis, twin].map((store) => createPlayer(store, { jobId, base, epoch }));
  const opening: Step = {
    kind: 'install',
    epochShift: 1n,
    mode: 'running',
    progress: [
      [1n, 0n, 1n, 0n], // at its end, and open for its parked record
      [1n, 1n, 1n, 0n],
      [0n, 0n, 0n, 0n],
    ],
  };
  for (const step of [opening, ...steps]) {
    const [fromRedis, fromTwin] = [await players[0]?.play(step), await players[1]?.play(step)];
    expect({ step, answer: comparable(fromRedis) }).toEqual({ step, answer: comparable(fromTwin) });
    expect({ step, state: comparable(await redis.snapshot(jobId)) }).toEqual({
      step,
      state: comparable(await twin.snapshot(jobId)),
    });
    if (hasKind(fromRedis)) seen.add(labelOf(fromRedis));
  }
  await redis.remove({ jobId });
}

/** The two clocks are read one after the other, so a time is told only as never, about now, or far ahead. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(comparable);
    // Candidates are ordered by times that lie within a millisecond of each other.
    return items.some((item) => JSON.stringify(item)?.includes('readyAtMs')) ? new Set(items) : items;
  }
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint' ? `${value}n` : value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      TIMES.has(name)
        ? coarseTime(Number(inner))
        : name === 'dueInMs'
          ? coarseTime(Date.now() + Number(inner))
          : comparable(inner),
    ]),
  );
}

function coarseTime(ms: number): string {
  if (ms === 0) return 'never';
  return ms > Date.now() + FOR_LONG_MS / 2 ? 'far ahead' : 'about now';
}

function labelOf(answer: { readonly kind: string; readonly done?: boolean; readonly why?: string }): string {
  return [answer.kind, answer.done === true ? 'done' : '', answer.why ?? ''].filter((word) => word !== '').join(': ');
}

function hasKind(answer: unknown): answer is { readonly kind: string } {
  return typeof answer === 'object' && answer !== null && 'kind' in answer;
}
