import { silentLogger } from '@tidemark/observability';
import { beforeEach, expect, it } from 'vitest';
import type { LetGo } from '../lease/grant.ts';
import { HOLD_MS } from '../limits.ts';
import { Waits } from './waits.ts';

const WAIT = { note: 'waiting: rate', pauseMs: 0, releaseMs: 7_000 };

let nowMs: number;
let said: unknown[];
let confirmed: { readonly kind: 'confirmed' } | LetGo;
let stop: AbortController;
beforeEach(() => {
  nowMs = 5_000;
  said = [];
  confirmed = { kind: 'confirmed' };
  stop = new AbortController();
});

function waits() {
  const held = {
    jobId: 'job-1',
    rangeId: '0:-1',
    signal: new AbortController().signal,
    ending: undefined,
    setNote: async (note: string) => void said.push(note),
    confirm: async () => confirmed,
    release: async (release: object) => {
      said.push(release);
      return { kind: 'released' } as const;
    },
  };
  const clock = { now: () => ({ monotonicMs: nowMs, wallMs: nowMs }) };
  const common = { stop: stop.signal, clock, random: () => 0, logger: silentLogger };
  return new Waits({ held, untouched: () => true, ...common });
}

it('says what it waits for and keeps the range, until it takes too long', async () => {
  const waiting = waits();
  expect(await waiting.hold(WAIT)).toBeUndefined();
  nowMs += HOLD_MS - 1;
  expect(await waiting.hold(WAIT)).toBeUndefined();
  nowMs += 1;
  expect(await waiting.hold(WAIT)).toEqual({ kind: 'released', why: 'waiting: rate' });
  expect(said).toEqual(['waiting: rate', 'waiting: rate', { note: 'waiting: rate', delayMs: 7_000, untouched: true }]);
});

it('waits anew after something has moved', async () => {
  const waiting = waits();
  await waiting.hold(WAIT);
  nowMs += HOLD_MS;
  waiting.moved();
  expect(await waiting.hold(WAIT)).toBeUndefined();
});

it('lets go of a job that drains, and gives the range back when the worker stops', async () => {
  confirmed = { kind: 'let go', reason: 'not running' };
  expect(await waits().hold(WAIT)).toEqual(confirmed);
  stop.abort();
  expect(await waits().hold(WAIT)).toEqual({ kind: 'released', why: 'shutdown' });
});
