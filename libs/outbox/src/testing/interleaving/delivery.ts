/** How what is committed comes out again: by the reader alone (reading.ts), or by relays and Kafka (services/relay). */
import type { Chance } from '@tidemark/testkit/chance';
import type { TestOutbox } from '../test-outbox.ts';
import type { Plant } from './plants.ts';
import type { DeliveredRow, Fault, Waited } from './verdict.ts';

/** Crashes at random and goes on; what it must not do is lose, repeat or reorder. */
export interface Delivery {
  /** Resolves when it runs; only then anybody writes. */
  start(scene: Scene): Promise<{ readonly delivered: Promise<Delivered> }>;
}

export interface Scene {
  readonly outbox: TestOutbox;
  /** Its own stream. */
  readonly chance: Chance;
  readonly plant: Plant | undefined;
  /** Nothing will be written any more: what is committed is all that must come. */
  isOver(): boolean;
  /** The server may go away and come back. */
  readonly serverCrashes: boolean;
}

export interface Delivered {
  readonly rows: readonly DeliveredRow[];
  readonly waited?: Waited;
  readonly faults: readonly Fault[];
  /** What a run must be made of to be worth something, and how often it happened. */
  readonly happened: Readonly<Record<string, number>>;
}
