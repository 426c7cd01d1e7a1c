import { backoff } from '@tidemark/keyspace';
import { IN_PLACE_ATTEMPTS, PARKED_BASE_MS, PARKED_MAX_MS } from '../limits.ts';

/** How long a record waits that has had so many attempts. Half of it is fixed: a record has few attempts, and they must last. */
export function parkedDelayMs(attempts: number, random: () => number): number {
  const attempt = attempts - IN_PLACE_ATTEMPTS + 1;
  return backoff({ baseMs: PARKED_BASE_MS, maxMs: PARKED_MAX_MS, attempt, fixedPart: 0.5, random });
}
