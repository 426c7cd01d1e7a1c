/**
 * A relay inside the test's process that is stopped and continued, or killed, between any two calls of its ports and
 * inside one. To it that is what SIGSTOP and SIGKILL are: its calls do not come back, and what they asked for may have
 * happened.
 */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { LogCluster } from '@tidemark/log';
import type { Outbox } from '@tidemark/outbox';

export const MOMENTS = ['now', 'before readPage', 'before commit', 'in commit', 'after commit'] as const;
export type Moment = (typeof MOMENTS)[number];
export type Deed = 'kill' | 'stop';

export interface Life {
  readonly isDead: boolean;
  readonly isStopped: boolean;
  /** Done at the next such moment. */
  plan(deed: Deed, moment: Moment): void;
  /** After a stop; forgets what is planned. */
  goOn(): void;
  outbox(outbox: Outbox): Outbox;
  cluster(cluster: LogCluster): LogCluster;
}

export function createLife(): Life {
  const death = Promise.withResolvers<never>();
  death.promise.catch(() => {}); // whoever is in a call hears of it
  let isDead = false;
  let gate: PromiseWithResolvers<void> | undefined;
  let planned: { readonly deed: Deed; readonly moment: Moment } | undefined;

  function carryOut(deed: Deed): void {
    planned = undefined;
    if (deed === 'stop') {
      gate ??= Promise.withResolvers();
      return;
    }
    isDead = true;
    death.reject(killed());
  }

  function reach(moment: string): void {
    if (planned?.moment === moment) carryOut(planned.deed);
  }

  async function pass(moment: string): Promise<void> {
    reach(moment);
    while (gate !== undefined) await Promise.race([gate.promise, death.promise]);
    if (isDead) throw killed();
  }

  async function call(name: string, start: () => unknown): Promise<unknown> {
    await pass(`before ${name}`);
    const answer = Promise.resolve(start());
    answer.catch(() => {}); // of a dead one nobody hears it
    reach(`in ${name}`);
    const result = await Promise.race([answer, death.promise]);
    await pass(`after ${name}`);
    return typeof result === 'object' && result !== null && 'commit' in result ? mortal(result) : result;
  }

  /** The port whose every call may be the last one. */
  function mortal<Port extends object>(port: Port): Port {
    return new Proxy(port, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        const start = (args: readonly unknown[]): unknown => Reflect.apply(value, target, args);
        if (property === 'close') return () => start([]);
        // Not a question: the calls of what it opens are.
        if (property === 'openReader' || property === 'openWriter') return () => mortal(Object(start([])));
        return (...args: readonly unknown[]) => call(String(property), () => start(args));
      },
    });
  }

  return {
    get isDead() {
      return isDead;
    },
    get isStopped() {
      return gate !== undefined && !isDead;
    },
    plan(deed, moment) {
      if (moment === 'now') carryOut(deed);
      else planned = { deed, moment };
    },
    goOn() {
      planned = undefined;
      gate?.resolve();
      gate = undefined;
    },
    outbox: ({ reader, lease, hints, close }) => ({
      reader: mortal(reader),
      lease: mortal(lease),
      hints: mortal(hints),
      close,
    }),
    cluster: (cluster) => ({ ...mortal(cluster), catalog: mortal(cluster.catalog) }),
  };
}

/** A class that a relay does not survive. */
function killed(): TidemarkError {
  return new TidemarkError({ code: 'KILLED', class: ErrorClass.bug, message: 'killed by the test' });
}
