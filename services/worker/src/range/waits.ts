/**
 * Waiting with the lease in hand: the range says for what, and is given back when it takes too long, so that other work goes
 * on and the same slot is not blocked for ever.
 */
import { waitingNote } from '@tidemark/jobs';
import { backoff, sleep } from '@tidemark/keyspace';
import type { Logger } from '@tidemark/observability';
import type { Clock } from '../clock.ts';
import type { HeldRange } from '../lease/held-range.ts';
import { HOLD_MS, OUTAGE_BASE_MS, OUTAGE_MAX_MS } from '../limits.ts';
import type { RangeEnding } from './ending.ts';

export interface Wait {
  readonly note: string;
  readonly pauseMs: number;
  /** For how long nobody takes the range after it was given back. */
  readonly releaseMs: number;
}

export interface WaitsOptions {
  readonly held: Pick<HeldRange, 'jobId' | 'rangeId' | 'signal' | 'ending' | 'setNote' | 'confirm' | 'release'>;
  /** Nothing above the cursor was handed to the handler. */
  readonly untouched: () => boolean;
  readonly stop: AbortSignal;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

export class Waits {
  readonly #options: WaitsOptions;
  /** Since when nothing moves; undefined while it does. */
  #sinceMs: number | undefined;
  #outages = 0;

  constructor(options: WaitsOptions) {
    this.#options = options;
  }

  moved(): void {
    this.#sinceMs = undefined;
    this.#outages = 0;
  }

  /** Growing, jittered pauses, and one line for the whole outage. */
  async outage(dependency: string, message: string): Promise<RangeEnding | undefined> {
    const { random, logger, held } = this.#options;
    this.#outages += 1;
    if (this.#outages === 1)
      logger.warn({ jobId: held.jobId, rangeId: held.rangeId, dependency, reason: message }, 'range.waiting');
    const pauseMs = backoff({ baseMs: OUTAGE_BASE_MS, maxMs: OUTAGE_MAX_MS, attempt: this.#outages, random });
    const releaseMs = Math.round(OUTAGE_MAX_MS * (0.5 + random() / 2));
    return await this.hold({ note: waitingNote.outage(dependency), pauseMs, releaseMs });
  }

  async hold({ note, pauseMs, releaseMs }: Wait): Promise<RangeEnding | undefined> {
    const { held, clock, stop } = this.#options;
    const nowMs = clock.now().monotonicMs;
    this.#sinceMs ??= nowMs;
    if (nowMs - this.#sinceMs >= HOLD_MS) return await this.release(note, { delayMs: releaseMs, note });
    await held.setNote(note);
    await this.pause(pauseMs);
    if (held.ending !== undefined) return held.ending;
    if (stop.aborted) return await this.release('shutdown', { note });
    // A job that was told to drain must not wait with us.
    const confirmed = await held.confirm();
    return confirmed.kind === 'let go' ? confirmed : undefined;
  }

  /** Ends early when the worker stops or the range is not ours any more. */
  pause(ms: number): Promise<void> {
    const { stop, held } = this.#options;
    return sleep(ms, stop, held.signal);
  }

  async release(
    why: string,
    release: { readonly delayMs?: number; readonly note?: string; readonly untouched?: boolean } = {},
  ): Promise<RangeEnding> {
    const { held, untouched } = this.#options;
    const answer = await held.release({ delayMs: 0, note: '', untouched: untouched(), ...release });
    return answer.kind === 'released' ? { kind: 'released', why } : answer;
  }
}
