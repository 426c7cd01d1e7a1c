/** How fast something grows over the guard's own cycles, and when it will have grown by so much. */
import { GROWTH_SAMPLES_MAX, GROWTH_SPAN_MS_MIN } from './limits.ts';

interface Sample {
  readonly atMs: number;
  readonly amount: bigint;
}

export class Growth {
  readonly #samples: Sample[] = [];

  note(amount: bigint, atMs: number): void {
    this.#samples.push({ amount, atMs });
    if (this.#samples.length > GROWTH_SAMPLES_MAX) this.#samples.shift();
  }

  /** When it will have grown by `more`, as fast as from the oldest sample to the newest; undefined when it does not grow, or was not watched long enough. */
  reachesAtMs(more: bigint, nowMs: number): number | undefined {
    const [oldest] = this.#samples;
    const newest = this.#samples.at(-1);
    if (oldest === undefined || newest === undefined) return undefined;
    const spanMs = newest.atMs - oldest.atMs;
    const grown = newest.amount - oldest.amount;
    if (spanMs < GROWTH_SPAN_MS_MIN || grown <= 0n) return undefined;
    const atMs = Math.round(nowMs + (Number(more) * spanMs) / Number(grown));
    return Number.isSafeInteger(atMs) ? atMs : undefined;
  }
}
