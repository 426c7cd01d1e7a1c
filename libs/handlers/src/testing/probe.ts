/**
 * The places at which a handler can be interrupted: every call of something outside that goes through a probe is a step,
 * with a "before" (nothing happened yet) and an "after" (it happened, the handler has not heard of it).
 */
import type { Queryable, Session, SessionPool } from '../adapters/postgres/queryable.ts';
import { STEP_NAME_MAX } from './limits.ts';

export interface Probe {
  /** A pool of node-postgres, or one of its shape: each `connect` and each statement is a step. */
  pool<Pool extends SessionPool & Queryable>(pool: Pool): Pool;
  /** Anything else: each call of a method is a step. All methods must answer with promises. */
  calls<Service extends object>(name: string, service: Service): Service;
}

export interface Interruption {
  readonly step: number;
  readonly when: 'before' | 'after';
  /**
   * `die`: nothing that the handler does afterwards reaches anything, its connections break. `hold`: it goes on when told
   * so. `signal`: the signal is aborted, and the handler goes on.
   */
  readonly act: 'die' | 'hold' | 'signal';
}

/** What one owner does through its probe. */
export interface Steps extends Probe {
  /** In the order in which they began. */
  readonly names: readonly string[];
  /** Grows with every call and every answer. */
  readonly activity: number;
  /** Resolves when the interruption takes place. */
  readonly interrupted: Promise<void>;
  /** Ends a `hold`. */
  goOn(): void;
  /** From now on calls pass as if there were no probe. */
  letPass(): void;
}

export function createSteps(
  interruption: Interruption | undefined,
  /** What is done at a `signal`, when no call is under way and before the handler hears of any. */
  onSignal: () => Promise<void> = async () => undefined,
): Steps {
  const names: string[] = [];
  const underWay = new Set<Promise<unknown>>();
  const sessions = new Set<Session>();
  const interrupted = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  let gate: Promise<void> | undefined;
  let activity = 0;
  let dead = false;
  let passing = false;

  async function interrupt(act: Interruption['act']): Promise<void> {
    switch (act) {
      case 'die':
        dead = true;
        for (const session of sessions) session.release(new Error('the owner of this connection died'));
        interrupted.resolve();
        return;
      case 'hold':
        interrupted.resolve();
        return await held.promise;
      case 'signal':
        gate = Promise.allSettled(underWay).then(onSignal);
        interrupted.resolve();
        return;
    }
  }

  async function step<Answer>(name: string, call: () => Promise<Answer>): Promise<Answer> {
    if (passing) return await call();
    if (dead) return await never();
    const number = names.push(name.replaceAll(/\s+/g, ' ').trim().slice(0, STEP_NAME_MAX)) - 1;
    const isHere = (when: Interruption['when']): boolean => interruption?.step === number && interruption.when === when;
    activity += 1;
    if (isHere('before') && interruption !== undefined) await interrupt(interruption.act);
    if (dead) return await never();
    const calling = call();
    underWay.add(calling);
    try {
      return await calling;
    } finally {
      underWay.delete(calling);
      activity += 1;
      if (isHere('after') && interruption !== undefined) await interrupt(interruption.act);
      await gate;
      if (dead) await never();
    }
  }

  function queryOf(sink: Queryable): (...values: readonly unknown[]) => Promise<unknown> {
    return (...values) =>
      step(
        `query ${textOf(values[0])}`,
        async () => await (Reflect.apply(sink.query, sink, values) as Promise<unknown>),
      );
  }

  function probedSession(session: Session): Session {
    sessions.add(session);
    return withMethods(session, {
      query: queryOf(session),
      release: (...values) => {
        // That of a dead owner was given back when it died.
        if (sessions.delete(session)) Reflect.apply(session.release, session, values);
      },
    });
  }

  return {
    names,
    get activity() {
      return activity;
    },
    interrupted: interrupted.promise,
    goOn: () => held.resolve(),
    letPass: () => {
      passing = true;
    },
    pool: (pool) =>
      withMethods(pool, {
        connect: () => step('connect', async () => probedSession(await pool.connect())),
        query: queryOf(pool),
      }),
    calls: (name, service) =>
      new Proxy(service, {
        get(target, property) {
          const method: unknown = Reflect.get(target, property, target);
          if (typeof method !== 'function') return method;
          return (...values: readonly unknown[]) =>
            step(
              `${name}.${String(property)}`,
              async () => await (Reflect.apply(method, target, values) as Promise<unknown>),
            );
        },
      }),
  };
}

/** node-postgres takes a statement as text or as an object with it. */
function textOf(statement: unknown): string {
  const text = typeof statement === 'object' && statement !== null && 'text' in statement ? statement.text : statement;
  return typeof text === 'string' ? text : 'without text';
}

/** All else of the object is as before, also what needs the object itself as its `this`. */
function withMethods<T extends object>(
  object: T,
  methods: Readonly<Record<string, (...values: unknown[]) => unknown>>,
): T {
  return new Proxy(object, {
    get(target, property) {
      const replaced = typeof property === 'string' && Object.hasOwn(methods, property) ? methods[property] : undefined;
      if (replaced !== undefined) return replaced;
      const own: unknown = Reflect.get(target, property, target);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined);
}
