/** The parts of a guard that dies at one of its calls: before it takes effect, or after, and nothing it does later does. */
import type { MarkSession } from '@tidemark/jobs';
import type { GuardParts } from '../parts.ts';

export type Moment = 'before' | 'after';

export interface Mortal {
  readonly parts: GuardParts;
  /** The call at which it died; undefined while it lives. */
  readonly diedAt: string | undefined;
}

/** `call` counts from 1 on. */
export function mortal(parts: GuardParts, death: { readonly call: number; readonly moment: Moment }): Mortal {
  let calls = 0;
  let diedAt: string | undefined;
  const killed = (): Error => new Error(`killed ${death.moment} ${diedAt ?? ''}`);
  const step = async <T>(name: string, act: () => Promise<T>): Promise<T> => {
    if (diedAt !== undefined) throw killed();
    calls += 1;
    if (calls !== death.call) return act();
    diedAt = name;
    if (death.moment === 'after') await act();
    throw killed();
  };
  const every = <T extends object>(name: string, part: T): T =>
    new Proxy(part, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) =>
          step(`${name}.${String(key)}`, async () => Reflect.apply(value, target, given) as Promise<unknown>);
      },
    });
  const marks = every('marks', parts.marks);
  return {
    get diedAt() {
      return diedAt;
    },
    parts: {
      ...parts,
      cluster: { openReader: () => parts.cluster.openReader(), catalog: every('catalog', parts.cluster.catalog) },
      floors: every('floors', parts.floors),
      jobs: every('jobs', parts.jobs),
      marks: {
        ensure: marks.ensure,
        load: marks.load,
        tell: marks.tell,
        openSession: async () => every<MarkSession>('session', await marks.openSession()),
      },
    },
  };
}
