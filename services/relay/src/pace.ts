/**
 * When to look at the outbox again. While rows come, at once; then after short pauses that grow; then the relay tells
 * the writers that it sleeps, looks once more, and waits for a hint or the next poll.
 */
import type { OutboxHints } from '@tidemark/outbox';
import { AWAKE_PAUSE_MS, SLEEP_AFTER_MS } from './limits.ts';

export interface Pace {
  /** Rows were found. */
  busy(): Promise<void>;
  /** Nothing was found: returns when it is time to look again. */
  idle(signal: AbortSignal): Promise<void>;
}

export function createPace(hints: OutboxHints, pollMs: number): Pace {
  let pauseMs = AWAKE_PAUSE_MS;
  let isAsleep = false;
  return {
    async busy() {
      pauseMs = AWAKE_PAUSE_MS;
      if (!isAsleep) return;
      isAsleep = false;
      await hints.announceAwake();
    },
    async idle(signal) {
      if (pauseMs < SLEEP_AFTER_MS) {
        await hints.wait(pauseMs, signal);
        pauseMs *= 2;
        return;
      }
      await hints.announceSleep();
      const sleptAlready = isAsleep;
      isAsleep = true;
      // A row that was committed before the announcement was seen sends no hint: look once more.
      if (sleptAlready) await hints.wait(pollMs, signal);
    },
  };
}
