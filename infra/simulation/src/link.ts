/**
 * The way from a process to a service and back: it may be slow, refuse, lose the reply of what acted, deliver twice, or
 * deliver when nobody waits for it any more. Nothing comes back to a process that is dead.
 */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { Chance } from '@tidemark/testkit/chance';
import type { FaultRates } from './plans.ts';
import type { SimulatedProcess } from './process.ts';
import type { VirtualTime } from './virtual-time.ts';

const LATE_MS_MAX = 9_000;
const SECOND_DELIVERY_MS_MAX = 300;

export interface LinkOptions {
  readonly time: VirtualTime;
  readonly process: SimulatedProcess;
  readonly chance: Chance;
  readonly rates: FaultRates;
  readonly isCalm: () => boolean;
}

export interface Link {
  /** `once`: a second delivery would be another call, as for a producer, which numbers what it sends. */
  call<T>(act: () => Promise<T>, how?: { readonly once: boolean }): Promise<T>;
}

export function createLink(options: LinkOptions): Link {
  const { time, process, chance, rates, isCalm } = options;
  const oneIn = (count: number): boolean => count > 0 && !isCalm() && chance.oneIn(count);
  const delayMs = (): number => {
    if (oneIn(rates.lateOneIn)) return chance.below(LATE_MS_MAX);
    return rates.latencyMsMax === 0 ? 0 : chance.below(rates.latencyMsMax + 1);
  };
  const travel = async (): Promise<void> => {
    const ms = delayMs();
    if (ms > 0) await time.sleep(ms);
  };
  /** Calls of a worker name their token and number, so they may come again at any time; others only right away, as from a retry. */
  const deliverAgain = (act: () => Promise<unknown>): void => {
    if (process.kind === 'worker') time.after(chance.below(SECOND_DELIVERY_MS_MAX), () => void settled(act()));
    else void settled(act());
  };
  return {
    async call(act, how = { once: false }) {
      const before = process.gate();
      if (before !== undefined) await before;
      await travel();
      const refused = oneIn(rates.refuseOneIn);
      // What a process sent before it died arrives, or does not.
      const arrives = process.alive || chance.oneIn(2);
      const outcome = refused || !arrives ? undefined : await settled(act());
      if (outcome !== undefined && !how.once && oneIn(rates.duplicateOneIn)) deliverAgain(act);
      await travel();
      const after = process.gate();
      if (after !== undefined) await after;
      if (outcome === undefined) throw unavailable('refused');
      if (oneIn(rates.loseReplyOneIn)) throw unavailable('the reply was lost');
      if (outcome.kind === 'failed') throw outcome.error;
      return outcome.answer;
    },
  };
}

type Settled<T> =
  | { readonly kind: 'answered'; readonly answer: T }
  | { readonly kind: 'failed'; readonly error: unknown };

async function settled<T>(acting: Promise<T>): Promise<Settled<T>> {
  try {
    return { kind: 'answered', answer: await acting };
  } catch (error) {
    return { kind: 'failed', error };
  }
}

function unavailable(message: string): TidemarkError {
  return new TidemarkError({ code: 'SIMULATED_OUTAGE', class: ErrorClass.unavailable, message });
}
