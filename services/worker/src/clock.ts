import { monotonicNowMs } from '@tidemark/keyspace';
import type { Instant } from './lease/lease-trust.ts';

export interface Clock {
  now(): Instant;
}

export const systemClock: Clock = { now: () => ({ monotonicMs: monotonicNowMs(), wallMs: Date.now() }) };
