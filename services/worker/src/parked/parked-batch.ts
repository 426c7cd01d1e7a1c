/**
 * A batch of parked records that is tried again, and what came of it: one step of the store at its end. A record that fails
 * again waits longer, and keeps the later ones of its key in the batch from being tried. What was not tried, because
 * something halted the batch, stays parked as it is: it costs no attempt and no word to the store.
 */
import type { LostInterval, Parking } from '@tidemark/cursors';
import type { JobDefinition } from '@tidemark/jobs';
import { NO_COUNTS } from '@tidemark/keyspace';
import type { SettleStep } from '../lease/moves.ts';
import type { AttemptPolicy, FailedAttempt } from '../run/attempt-policy.ts';
import type { Settlements } from '../run/handling.ts';
import { Settlement } from '../run/settlement.ts';
import { parkedDelayMs } from './parked-delay.ts';
import type { ParkedEntry } from './parked-set.ts';

const COUNTERS = {
  [Settlement.ok]: 'ok',
  [Settlement.skipped]: 'skipped',
  [Settlement.deadLettered]: 'deadLettered',
  [Settlement.filtered]: 'filtered',
} as const;

/** What is tried was read, so it is there. */
const NONE_LOST: readonly LostInterval[] = [];

export class ParkedBatch implements AttemptPolicy, Settlements {
  readonly isWatching = true;
  readonly #entries: readonly ParkedEntry[];
  readonly #attempts: number;
  readonly #random: () => number;
  readonly #isTimeUp: () => boolean;
  /** Handed to the handler. */
  readonly #tried = new Set<number>();
  readonly #settled = new Map<number, Settlement>();
  readonly #again = new Map<number, Parking>();
  readonly #failedKeys = new Set<string>();

  /** `entries` in offset order. Once the time is up no further record is tried; what was begun is brought to its end. */
  constructor(options: {
    readonly job: Pick<JobDefinition, 'attempts'>;
    readonly entries: readonly ParkedEntry[];
    readonly random: () => number;
    readonly isTimeUp?: () => boolean;
  }) {
    this.#entries = options.entries;
    this.#attempts = options.job.attempts;
    this.#random = options.random;
    this.#isTimeUp = options.isTimeUp ?? (() => false);
  }

  openIndexes(): number[] {
    return [...this.#entries.keys()].filter((index) => !this.#settled.has(index) && !this.#again.has(index));
  }

  settle(index: number, settlement: Settlement): void {
    if (!this.#settled.has(index) && !this.#again.has(index)) this.#settled.set(index, settlement);
  }

  /** Every attempt here is one, see `step`. */
  addRetry(): void {}

  start(index: number): 'start' | 'put aside' {
    const { keyHash } = this.#entry(index);
    if (this.#failedKeys.has(keyHash) || this.#isTimeUp()) return 'put aside';
    this.#tried.add(index);
    return 'start';
  }

  attemptsBefore(index: number): number {
    return this.#entry(index).attempt;
  }

  /** Between two attempts it waits in the parked set. */
  pauseMs(): undefined {}

  putOff(index: number, { attempt, faultClass }: FailedAttempt): 'put aside' | 'exhausted' {
    const { offset, keyHash } = this.#entry(index);
    if (attempt >= this.#attempts) return 'exhausted';
    if (!this.#settled.has(index))
      this.#again.set(index, { offset, attempt, faultClass, keyHash, delayMs: parkedDelayMs(attempt, this.#random) });
    if (keyHash !== '') this.#failedKeys.add(keyHash);
    return 'put aside';
  }

  /** Undefined when nothing was tried. What was tried and came to no end may be delivered again. */
  step(): SettleStep | undefined {
    if (this.#settled.size + this.#again.size + this.#tried.size === 0) return undefined;
    const open = [...this.#tried].filter((index) => !this.#settled.has(index) && !this.#again.has(index));
    const add = { ...NO_COUNTS, parked: -BigInt(this.#settled.size), maybeRedelivered: BigInt(open.length) };
    for (const settlement of this.#settled.values()) add[COUNTERS[settlement]] += 1n;
    for (const index of [...this.#settled.keys(), ...this.#again.keys()])
      if (this.#entry(index).attempt > 0) add.retries += 1n;
    const settled = [...this.#settled.keys()].map((index) => this.#entry(index).offset);
    return { settled, again: [...this.#again.values()], add, passed: NONE_LOST };
  }

  /** For a sink that knows a younger owner: nothing is ours to settle, so all that was tried may be delivered again. */
  withdrawn(): SettleStep {
    const add = { ...NO_COUNTS, maybeRedelivered: BigInt(this.#tried.size) };
    return { settled: [], again: [], add, passed: NONE_LOST };
  }

  #entry(index: number): ParkedEntry {
    const entry = this.#entries[index];
    if (entry === undefined) throw new RangeError(`no record ${index} in a batch of ${this.#entries.length}`);
    return entry;
  }
}
