/**
 * One thing that is looked at again and again, by one at a time, and what is known of it now. A value that could not be
 * renewed in time is not shown as if it were of now: it is unknown, with the reason.
 */
import { describeError } from '@tidemark/keyspace';

export type Known<Value> =
  | {
      readonly kind: 'known';
      readonly value: Value;
      /** The instant before the question: the value may be as old as that. */
      readonly atMs: number;
      /** The instant after the answer: the value is not younger than that. */
      readonly answeredAtMs: number;
    }
  | { readonly kind: 'unknown'; readonly reason: string; readonly wasAsked: boolean };

export interface Feed<Value> {
  /** Joins a look that is under way. Never rejects: what went wrong is in `read`. */
  refresh(): Promise<void>;
  read(): Known<Value>;
}

export function createFeed<Value>(options: {
  readonly look: () => Promise<Value>;
  readonly staleAfterMs: number;
  readonly now: () => number;
  /** A look within this time after the last good one is spared. */
  readonly everyMs?: number;
}): Feed<Value> {
  const { look, staleAfterMs, now, everyMs = 0 } = options;
  let last: Extract<Known<Value>, { readonly kind: 'known' }> | undefined;
  let fault: string | undefined;
  let askedAtMs: number | undefined;
  let pending: Promise<void> | undefined;

  async function run(): Promise<void> {
    const startedMs = now();
    askedAtMs ??= startedMs;
    try {
      const value = await look();
      last = { kind: 'known', value, atMs: startedMs, answeredAtMs: now() };
      fault = undefined;
    } catch (error) {
      fault = describeError(error);
    } finally {
      askedAtMs = undefined;
      pending = undefined;
    }
  }

  return {
    refresh() {
      if (pending !== undefined) return pending;
      if (last !== undefined && fault === undefined && now() - last.atMs < everyMs) return Promise.resolve();
      pending = run();
      return pending;
    },
    read() {
      const nowMs = now();
      if (last !== undefined && nowMs - last.atMs <= staleAfterMs + everyMs) return last;
      if (fault !== undefined) return { kind: 'unknown', reason: fault, wasAsked: true };
      if (askedAtMs !== undefined && nowMs - askedAtMs > staleAfterMs)
        return { kind: 'unknown', reason: `no answer for ${Math.round((nowMs - askedAtMs) / 1000)} s`, wasAsked: true };
      return { kind: 'unknown', reason: 'being looked up', wasAsked: false };
    },
  };
}

/** A part of what is known. */
export function mapKnown<Value, Part>(known: Known<Value>, part: (value: Value) => Part): Known<Part> {
  return known.kind === 'known' ? { ...known, value: part(known.value) } : known;
}

export function knownValue<Value>(known: Known<Value>): Value | undefined {
  return known.kind === 'known' ? known.value : undefined;
}

/** For a look that makes no sense without it. Throws the reason for which it is unknown. */
export function neededValue<Value>(known: Known<Value>): Value {
  if (known.kind === 'unknown') throw new Error(known.reason);
  return known.value;
}
