/** Polling with an end: for what offers no event to await. */
import { setTimeout as delay } from 'node:timers/promises';
import { WAIT_INTERVAL_MS, WAIT_TIMEOUT_MS } from './limits.ts';

/**
 * Resolves to the first answer of `condition` that is neither undefined nor false. When the time is over it throws,
 * naming what it waited for and what it saw last. A `condition` that throws counts as "not yet".
 */
export async function waitFor<T>(
  description: string,
  condition: () => T | Promise<T>,
  options: { timeoutMs?: number; intervalMs?: number } = {},
): Promise<Exclude<T, undefined | false | null>> {
  const timeoutMs = options.timeoutMs ?? WAIT_TIMEOUT_MS;
  const deadline = performance.now() + timeoutMs;
  let last = 'no answer';
  for (;;) {
    try {
      const answer = await condition();
      if (answer !== undefined && answer !== false && answer !== null)
        return answer as Exclude<T, undefined | false | null>;
      last = String(answer);
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    if (performance.now() > deadline)
      throw new Error(`waited ${timeoutMs} ms in vain for: ${description} (last: ${last})`);
    await delay(options.intervalMs ?? WAIT_INTERVAL_MS);
  }
}
