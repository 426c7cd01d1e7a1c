/** A cursor store that remembers what it was asked and shows what it holds after each step; and a worker's way to it, which can be cut. For tests. */
import type { CursorStore, RangeState } from '@tidemark/cursors';
import { altered } from './altered-store.ts';

const STEPS = ['lease', 'claim', 'advance', 'settle', 'release', 'stop'] as const;
type Step = (typeof STEPS)[number];

export interface WatchedStore {
  readonly store: CursorStore;
  /** Names of the accepted steps, in order. */
  readonly steps: Step[];
}

/** `look` sees all ranges of the job after each step. */
export function watched(
  inner: CursorStore,
  look: (ranges: readonly RangeState[], step: Step, jobId: string) => void = () => undefined,
): WatchedStore {
  const steps: Step[] = [];
  const watch = (step: Step): Partial<CursorStore> => ({
    [step]: async (request: never) => {
      const answer = await (inner[step] as (given: never) => Promise<{ readonly kind: string }>)(request);
      steps.push(step);
      const { jobId } = request as { readonly jobId: string };
      look((await inner.snapshot(jobId))?.ranges ?? [], step, jobId);
      return answer;
    },
  });
  return { store: altered(inner, Object.assign({}, ...STEPS.map(watch))), steps };
}

export interface MortalStore {
  readonly store: CursorStore;
  /** Its worker died: no call is answered any more. */
  readonly isDead: boolean;
  /** Calls that were made. */
  readonly calls: number;
  /** Lets what is left of the worker end: its calls are answered as those of a fenced owner. */
  bury(): void;
}

/** Dies with call number `at` (from 1), before the store hears of it or after it did it: what a killed process leaves behind. */
export function mortal(
  inner: CursorStore,
  death: { readonly at: number; readonly moment: 'before' | 'after' } | undefined,
): MortalStore {
  let calls = 0;
  let isDead = false;
  const buried = Promise.withResolvers<{ readonly kind: 'fenced' }>();
  const die = (step: Step): Partial<CursorStore> => ({
    [step]: async (request: never) => {
      if (isDead) return await buried.promise;
      calls += 1;
      const dies = calls === death?.at;
      if (dies && death?.moment === 'before') {
        isDead = true;
        return await buried.promise;
      }
      const answer = await (inner[step] as (given: never) => Promise<unknown>)(request);
      if (!dies) return answer;
      isDead = true;
      return await buried.promise;
    },
  });
  const renew: CursorStore['renew'] = (request) => (isDead ? buried.promise : inner.renew(request));
  return {
    store: altered(inner, { ...Object.assign({}, ...STEPS.map(die)), renew }),
    get isDead() {
      return isDead;
    },
    get calls() {
      return calls;
    },
    bury: () => buried.resolve({ kind: 'fenced' }),
  };
}
