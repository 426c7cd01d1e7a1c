/** The jobs of a test as a list of states, and a distributor that is a function. */
import type { JobCommand, JobState, RangeCheckpoint, SeriesState } from '@tidemark/contracts';
import type { JobLog } from '@tidemark/jobs';
import { toOffset } from '@tidemark/keyspace';

export interface ScriptedJobLog extends JobLog {
  readonly commands: readonly JobCommand[];
  /** What a distributor writes. */
  write(state: JobState): void;
}

const PLACE = { partition: 0, offset: toOffset(7) };

/** `onCommand` answers as a distributor would: with the states that it writes. */
export function scriptedJobLog(options: {
  readonly states: readonly JobState[];
  readonly checkpoints?: readonly RangeCheckpoint[];
  readonly series?: readonly SeriesState[];
  readonly onCommand?: (command: JobCommand) => readonly JobState[];
}): ScriptedJobLog {
  const log = [...options.states];
  const followers = new Set<(state: JobState) => void>();
  const commands: JobCommand[] = [];
  function write(state: JobState): void {
    log.push(state);
    for (const follower of followers) follower(state);
  }
  return {
    commands,
    write,
    async request() {
      return PLACE;
    },
    async command(command) {
      commands.push(command);
      for (const state of options.onCommand?.(command) ?? []) write(state);
      return PLACE;
    },
    async states() {
      return new Map(log.map((state) => [state.jobId, state]));
    },
    async orderSeries() {
      return PLACE;
    },
    async series() {
      return new Map((options.series ?? []).map((state) => [state.series, state]));
    },
    async jobsAndSeries() {
      return { states: await this.states(), series: await this.series() };
    },
    async followSeries() {},
    async checkpoints() {
      return options.checkpoints ?? [];
    },
    async follow(onState, signal) {
      for (const state of [...log]) if (!signal.aborted) onState(state);
      if (signal.aborted) return;
      followers.add(onState);
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      followers.delete(onState);
    },
    async close() {},
  };
}
