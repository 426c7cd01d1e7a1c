/** Asking the relay to try parked keys again, and what became of them. */
import type { ParkedKey, RelayPosition } from '@tidemark/contracts';
import type { RetryWish } from '@tidemark/outbox';

export interface RetryParts {
  newestPosition(): Promise<RelayPosition | undefined>;
  ask(wish: RetryWish): Promise<void>;
  /** Between two looks; false when the time is over. */
  goesOn(): Promise<boolean>;
}

export interface RetryAnswer {
  readonly freed: readonly ParkedKey[];
  /** Tried, and one of its rows still cannot be sent. */
  readonly stillParked: readonly ParkedKey[];
  /** Not tried within the time. */
  readonly untried: readonly ParkedKey[];
}

/** A try that began before the wish may end after it; the pauses of a key that is asked for begin again, so the next one is near. */
const TRIES_IN_VAIN = 2;

interface Asked {
  readonly parked: ParkedKey;
  readonly isFree: boolean;
  readonly triesInVain: number;
}

/** Of the parked keys that are meant. Without any, nothing is asked. */
export async function retryParked(parts: RetryParts, wish: RetryWish): Promise<RetryAnswer> {
  let asked = ((await parts.newestPosition())?.parked ?? [])
    .filter((parked) => isMeant(parked, wish))
    .map((parked): Asked => ({ parked, isFree: false, triesInVain: 0 }));
  if (asked.length > 0) await parts.ask(wish);
  while (asked.some(isOpen) && (await parts.goesOn())) {
    const now = (await parts.newestPosition())?.parked ?? [];
    asked = asked.map((one) => lookedAt(one, now));
  }
  const kept = asked.filter(({ isFree }) => !isFree);
  return {
    freed: asked.filter(({ isFree }) => isFree).map(({ parked }) => parked),
    stillParked: kept.filter((one) => !isOpen(one)).map(({ parked }) => parked),
    untried: kept.filter(isOpen).map(({ parked }) => parked),
  };
}

function isMeant(parked: ParkedKey, { topic, key }: RetryWish): boolean {
  return (topic === null || topic === parked.topic) && (key === null || key === parked.key);
}

function isOpen({ isFree, triesInVain }: Asked): boolean {
  return !isFree && triesInVain < TRIES_IN_VAIN;
}

function lookedAt(one: Asked, now: readonly ParkedKey[]): Asked {
  if (one.isFree) return one;
  const parked = now.find(({ topic, key }) => topic === one.parked.topic && key === one.parked.key);
  if (parked === undefined) return { ...one, isFree: true };
  const isTried = parked.triedAtMs !== one.parked.triedAtMs;
  return { ...one, parked, triesInVain: one.triesInVain + (isTried ? 1 : 0) };
}
