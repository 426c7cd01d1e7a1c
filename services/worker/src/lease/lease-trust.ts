/**
 * How long an owner may believe that a lease is still his. The store grants for `ttl` on its clock; the owner cannot see
 * that clock, so he counts from the instant *before* he sent the request, on his own monotonic clock, and keeps a margin:
 *
 *   sent ---- granted (store) ------------------------------ expires (store)
 *   |<------------------ ttl - margin ------------------>|   trust ends here, always before the store's end
 *
 * The monotonic clock of Linux stands still while the machine is suspended, the wall clock does not. A difference between
 * the two that grew since the grant means a suspend (or somebody set the clock), and then nothing is trusted.
 */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export interface LeaseTerms {
  readonly ttlMs: number;
  readonly marginMs: number;
}

export class LeaseTrust {
  readonly #terms: LeaseTerms;
  #since: Instant;

  /** `since` is taken before the request for the lease is sent. */
  constructor(terms: LeaseTerms, since: Instant) {
    this.#terms = terms;
    this.#since = since;
  }

  /** The store renewed the lease in a call that was sent at `since`. */
  renewed(since: Instant): void {
    if (since.monotonicMs > this.#since.monotonicMs) this.#since = since;
  }

  /** How long from now it still holds; 0 when it does not. */
  leftMs(now: Instant): number {
    return this.holds(now) ? this.#terms.ttlMs - this.#terms.marginMs - this.ageMs(now) : 0;
  }

  holds(now: Instant): boolean {
    const elapsedMs = now.monotonicMs - this.#since.monotonicMs;
    const wallElapsedMs = now.wallMs - this.#since.wallMs;
    return (
      elapsedMs < this.#terms.ttlMs - this.#terms.marginMs &&
      Math.abs(wallElapsedMs - elapsedMs) <= this.#terms.marginMs
    );
  }

  /** Milliseconds since the last renewal was sent. */
  ageMs(now: Instant): number {
    return now.monotonicMs - this.#since.monotonicMs;
  }
}
