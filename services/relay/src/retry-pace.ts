/**
 * When a parked key is tried again: after pauses that grow, or at once when somebody asks. Kept over sessions and
 * forgotten with the process: a relay that starts tries everything first.
 */
import type { ParkedKey } from '@tidemark/contracts';
import { backoff } from '@tidemark/keyspace';
import type { RetryWish } from '@tidemark/outbox';
import { KEYS_A_TRY, RETRY_PARKED_BASE_MS, RETRY_PARKED_MS_MAX } from './limits.ts';
import { keyId, type ParkedKeys } from './parked-keys.ts';

export interface RetryPace {
  /** Those whose time has come, longest overdue first; not more than are tried together. */
  due(parked: ParkedKeys, nowMs: number): readonly string[];
  /** Tried in vain, or parked just now. */
  failed(key: Pick<ParkedKey, 'topic' | 'key'>, nowMs: number): void;
  freed(key: ParkedKey): void;
  /** The keys are due, and their pauses begin again. */
  hasten(parked: ParkedKeys, wish: RetryWish): void;
}

export function createRetryPace(random: () => number): RetryPace {
  const plans = new Map<string, { readonly attempts: number; readonly dueAtMs: number }>();

  function plan(id: string, attempts: number, nowMs: number): void {
    const waitMs = backoff({
      baseMs: RETRY_PARKED_BASE_MS,
      maxMs: RETRY_PARKED_MS_MAX,
      attempt: attempts,
      fixedPart: 0.5,
      random,
    });
    plans.set(id, { attempts, dueAtMs: nowMs + waitMs });
  }

  return {
    due(parked, nowMs) {
      return [...parked.keys()]
        .map((id) => ({ id, dueAtMs: plans.get(id)?.dueAtMs ?? Number.NEGATIVE_INFINITY }))
        .filter(({ dueAtMs }) => dueAtMs <= nowMs)
        .sort((a, b) => a.dueAtMs - b.dueAtMs)
        .slice(0, KEYS_A_TRY)
        .map(({ id }) => id);
    },
    failed(key, nowMs) {
      const id = keyId(key);
      plan(id, (plans.get(id)?.attempts ?? 0) + 1, nowMs);
    },
    freed(key) {
      plans.delete(keyId(key));
    },
    hasten(parked, { topic, key }) {
      for (const [id, entry] of parked) {
        const isMeant = (topic === null || topic === entry.topic) && (key === null || key === entry.key);
        if (isMeant) plans.set(id, { attempts: 0, dueAtMs: Number.NEGATIVE_INFINITY });
      }
    },
  };
}
