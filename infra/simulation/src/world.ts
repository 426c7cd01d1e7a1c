/** What outlives every process: the services in memory, the sink of the handlers, and the history. */
import type { Codec, JobState, RangeCheckpoint } from '@tidemark/contracts';
import { readRecord, SchemaName } from '@tidemark/contracts';
import { createMemoryCodec } from '@tidemark/contracts/testing';
import type { Leadership, Schedule } from '@tidemark/cursors';
import {
  createMemoryCursorStore,
  createMemoryFloorStore,
  createMemoryLeadership,
  createMemorySchedule,
  type MemoryCursorStore,
  type MemoryFloorStore,
} from '@tidemark/cursors/testing';
import { isTerminal, jobTopics } from '@tidemark/jobs';
import type { OutgoingRecord } from '@tidemark/log';
import { createMemoryCluster, type MemoryCluster } from '@tidemark/log/testing';
import type { Happening, HistoryEvent } from './history.ts';
import type { Scenario } from './plans.ts';
import { Topics } from './topics.ts';
import type { VirtualTime } from './virtual-time.ts';

export const NAMESPACE = 'sim';
const OWN_TOPICS = jobTopics(NAMESPACE);

export class World {
  readonly scenario: Scenario;
  readonly time: VirtualTime;
  readonly cluster: MemoryCluster = createMemoryCluster({ now: () => BigInt(Date.now()) });
  readonly codec: Codec = createMemoryCodec();
  readonly store: MemoryCursorStore = createMemoryCursorStore({ now: Date.now });
  readonly floors: MemoryFloorStore = createMemoryFloorStore({ now: Date.now });
  readonly schedule: Schedule = createMemorySchedule({ now: Date.now });
  readonly topics: Topics;
  #leadership: Leadership = createMemoryLeadership({ now: Date.now });
  readonly events: HistoryEvent[] = [];
  /** The newest durable state of every job, and since when it is in its phase. */
  readonly states = new Map<string, { readonly state: JobState; readonly sinceMs: number }>();
  readonly #onEvent: ((event: HistoryEvent) => void) | undefined;
  isCalm = false;
  sinkIsDown = false;
  handlerCalls = 0;

  constructor(scenario: Scenario, time: VirtualTime, onEvent?: (event: HistoryEvent) => void) {
    this.scenario = scenario;
    this.time = time;
    this.topics = new Topics(this.cluster, time, scenario.seed);
    this.#onEvent = onEvent;
  }

  readonly leadership: Leadership = {
    lead: (request) => this.#leadership.lead(request),
    resign: (request) => this.#leadership.resign(request),
    close: () => Promise.resolve(),
  };

  /** Everything in it is gone, and it is another one. */
  emptyStore(): void {
    this.store.loseEverything();
    this.floors.loseEverything();
    this.floors.restart();
    this.#leadership = createMemoryLeadership({ now: Date.now });
    this.tell('world', { kind: 'store lost', how: 'emptied' });
  }

  /** To be told when an operation of a floor store has acted. */
  onFloors: (by: string, operation: string) => void = () => undefined;

  /** Returns the event: an answer that acts at once but is promised is filled in before anything else happens. */
  tell<Told extends Happening>(by: string, happening: Told): Told & { atMs: number; by: string } {
    const event = { ...happening, atMs: this.time.nowMs(), by };
    this.events.push(event);
    this.#onEvent?.(event);
    return event;
  }

  /** When the store was filled with the job for a second or later time, last. */
  filledAgainMs(jobId: string): number {
    const fillings = this.events.filter(
      (event) => event.kind === 'stored' && event.call.operation === 'install' && event.call.request.jobId === jobId,
    );
    return fillings.length < 2 ? Number.NEGATIVE_INFINITY : (fillings.at(-1)?.atMs ?? 0);
  }

  calm(): void {
    this.isCalm = true;
    this.sinkIsDown = false;
    this.tell('world', { kind: 'calm' });
  }

  /** Whether every job came to an end that has a name. */
  get isOver(): boolean {
    return (
      this.isCalm &&
      this.scenario.jobs.every(({ jobId }) => {
        const known = this.states.get(jobId);
        return known !== undefined && isTerminal(known.state.state);
      })
    );
  }

  /** Records of our own topics became visible together; the history has them decoded. */
  durable(by: string, records: readonly OutgoingRecord[]): void {
    const states: JobState[] = [];
    const checkpoints: RangeCheckpoint[] = [];
    const highWatermarks = new Map<string, readonly bigint[]>();
    const logStarts = new Map<string, readonly bigint[]>();
    for (const { jobId, topic } of this.scenario.jobs) {
      highWatermarks.set(jobId, this.topics.highWatermarks(topic));
      logStarts.set(jobId, this.topics.logStarts(topic));
    }
    const atMs = this.time.nowMs();
    this.tell(by, { kind: 'durable', states, checkpoints, highWatermarks, logStarts });
    // Only promises stand between here and there, so it is complete before anything else happens.
    for (const { topic, value } of records) {
      if (value === null) continue;
      if (topic === OWN_TOPICS.jobState)
        void this.codec.decode(value).then((decoded) => {
          const state = readRecord(decoded, SchemaName.jobState);
          states.push(state);
          const known = this.states.get(state.jobId);
          const sinceMs = known?.state.state === state.state ? known.sinceMs : atMs;
          this.states.set(state.jobId, { state, sinceMs });
        });
      if (topic === OWN_TOPICS.checkpoints)
        void this.codec.decode(value).then((decoded) => {
          if (decoded.schema === SchemaName.rangeCheckpoint)
            checkpoints.push(readRecord(decoded, SchemaName.rangeCheckpoint));
        });
    }
  }
}
