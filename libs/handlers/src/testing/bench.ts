/** What a disturbance works with: owners of one range, and the sink between them. */
import type { Handler } from '../handler.ts';
import { createOwner, type Events, inTime, type Owner, type OwnerOptions } from './owner.ts';
import type { Probe } from './probe.ts';

export interface Bench {
  /** The next worker process that gets the range. */
  owner(options: NewOwner): Owner;
  snapshot(): Promise<unknown>;
  reset(): Promise<void>;
  /** Closes all owners that were made since the last time. */
  clear(): Promise<void>;
}

export interface NewOwner extends Pick<OwnerOptions, 'grant' | 'interruption' | 'onSignal'> {
  /** Without it: the first. */
  readonly attempt?: number;
  /** Each event twice in a row. */
  readonly doubled?: boolean;
}

/** What an undisturbed run did. */
export interface Course {
  readonly name: string;
  readonly snapshot: unknown;
  /** Records that it refuses as bad. */
  readonly deadLetters: readonly string[];
  readonly steps: readonly string[];
  readonly calls: readonly string[];
}

export interface BenchOptions {
  readonly make: (probe: Probe) => Handler;
  readonly events: Events;
  readonly parameters: Readonly<Record<string, string>>;
  readonly reset: () => unknown;
  readonly snapshot: () => unknown;
}

export function createBench({ make, events, parameters, reset, snapshot }: BenchOptions): Bench {
  let owners: Owner[] = [];
  return {
    owner({ doubled = false, attempt = 1, ...more }) {
      const given = doubled ? events.flatMap((event) => [event, event]) : events;
      const owner = createOwner({ make, events: given, parameters, attempt, ...more });
      owners.push(owner);
      return owner;
    },
    // Sinks in memory hand out what they go on changing.
    snapshot: async () => structuredClone(await snapshot()),
    async reset() {
      await reset();
    },
    async clear() {
      const ended = owners;
      owners = [];
      for (const owner of ended) await inTime(owner.close(), 'close');
    },
  };
}
