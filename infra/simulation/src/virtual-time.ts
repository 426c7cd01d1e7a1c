/**
 * One clock for everything in a simulation: timers, Date and performance are replaced, and time stands still until every
 * promise that can go on has gone on; then it jumps to the next timer. Hours pass in milliseconds, always in the same order.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import FakeTimers from '@sinonjs/fake-timers';
import type { Chance } from '@tidemark/testkit/chance';
import { BEGIN_MS } from './limits.ts';

/** What is run on behalf of a process may be held back or dropped with it. */
export interface TimerOwner {
  onTimer(fire: () => void): void;
}

export interface VirtualTime {
  nowMs(): number;
  /** A timer of the world: it fires whatever becomes of the process that asked for it. */
  after(ms: number, action: () => void): void;
  sleep(ms: number): Promise<void>;
  /** Timers that are set in there, or by what it causes, belong to the owner. */
  runAs<T>(owner: TimerOwner, action: () => T): T;
  /** Until the condition holds, no timer is left, or the clock passes the limit. */
  run(options: {
    readonly until: () => boolean;
    readonly untilMs: number;
  }): Promise<'reached' | 'out of time' | 'idle'>;
  /** Puts the real timers back. */
  end(): void;
}

const FAKED = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'clearImmediate',
  'Date',
  'performance',
] as const;

export function beginVirtualTime(chance: Chance): VirtualTime {
  const settle = setImmediate;
  const random = Math.random;
  const clock = FakeTimers.install({ now: BEGIN_MS, toFake: [...FAKED] });
  const owners = new AsyncLocalStorage<TimerOwner>();
  const { setTimeout: after } = globalThis;
  Math.random = chance.next;
  ownTimers(owners);
  const realTimeout = AbortSignal.timeout;
  AbortSignal.timeout = abortedAfter;

  /** All promises that can go on have gone on when the event loop comes around. */
  const settled = (): Promise<void> => new Promise((resolve) => settle(resolve));
  return {
    nowMs: () => Date.now() - BEGIN_MS,
    after: (ms, action) => void after(action, ms),
    sleep: (ms) => new Promise((resolve) => void after(resolve, ms)),
    runAs: (owner, action) => owners.run(owner, action),
    async run({ until, untilMs }) {
      for (;;) {
        await settled();
        if (until()) return 'reached';
        if (Date.now() - BEGIN_MS >= untilMs) return 'out of time';
        if (clock.countTimers() === 0) return 'idle';
        clock.next();
      }
    },
    end() {
      clock.uninstall();
      Math.random = random;
      AbortSignal.timeout = realTimeout;
    },
  };
}

/** Node's own has a timer that nobody can replace. */
function abortedAfter(ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new DOMException('timed out', 'TimeoutError')), ms);
  return controller.signal;
}

interface OwnedTimer {
  cleared: boolean;
  /** Fired while its process stood still; an interval does so once. */
  pending: boolean;
}

type Action = (...values: unknown[]) => void;
type Set = (action: Action, ...rest: unknown[]) => object;
type Clear = (timer: object | undefined) => void;

/** A timer fires for the process in which it was set, and not after it was cleared, also when it fired into a stopped one. */
function ownTimers(owners: AsyncLocalStorage<TimerOwner>): void {
  const timers = new WeakMap<object, OwnedTimer>();
  const setter =
    (set: Set): Set =>
    (action, ...rest) => {
      const owner = owners.getStore();
      if (owner === undefined) return set(action, ...rest);
      const state: OwnedTimer = { cleared: false, pending: false };
      const timer = set(
        (...values) => {
          if (state.pending) return;
          state.pending = true;
          owner.onTimer(() => {
            state.pending = false;
            if (!state.cleared) owners.run(owner, action, ...values);
          });
        },
        ...rest,
      );
      timers.set(timer, state);
      return timer;
    };
  const clearer =
    (clear: Clear): Clear =>
    (timer) => {
      const state = timer === undefined ? undefined : timers.get(timer);
      if (state !== undefined) state.cleared = true;
      clear(timer);
    };
  const real = globalThis as unknown as Record<string, never>;
  for (const name of ['setTimeout', 'setInterval', 'setImmediate'])
    Object.assign(globalThis, { [name]: setter(real[name] as unknown as Set) });
  for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate'])
    Object.assign(globalThis, { [name]: clearer(real[name] as unknown as Clear) });
}
