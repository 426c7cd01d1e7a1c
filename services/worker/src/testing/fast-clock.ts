/** A clock on which so many seconds pass in one: pauses of minutes are over in a moment, and nothing is stubbed. For tests. */
import { monotonicNowMs } from '@tidemark/keyspace';
import type { Clock } from '../clock.ts';

export function fastClock(speed: number): Clock & { nowMs(): number } {
  const began = { monotonicMs: monotonicNowMs(), wallMs: Date.now() };
  const passedMs = (): number => (monotonicNowMs() - began.monotonicMs) * speed;
  return {
    now: () => ({ monotonicMs: began.monotonicMs + passedMs(), wallMs: began.wallMs + passedMs() }),
    nowMs: () => Math.floor(began.wallMs + passedMs()),
  };
}
