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
  readonly onCommandToSeries?: (command: JobCommand) => readonly SeriesState[];
}): ScriptedJobLog {
  const log = [...options.states];
  const followers = new Set<(state: JobState) => void>();
  const seriesLog = [...(options.series ?? [])];
  const seriesFollowers = new Set<(state: SeriesState) => void>();
  const commands: JobCommand[] = [];
  function write(state: JobState): void {
    log.push(state);
    for (const follower of followers) follower(state);
  }
  function writeSeries(state: SeriesState): void {
    seriesLog.push(state);
    for (const follower of seriesFollowers) follower(state);
  }
  async function followAll<State>(
    past: readonly State[],
    listeners: Set<(state: State) => void>,
    onState: (state: State) => void,
    signal: AbortSignal,
  ): Promise<void> {
    for (const state of [...past]) if (!signal.aborted) onState(state);
    if (signal.aborted) return;
    listeners.add(onState);
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    listeners.delete(onState);
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
      for (const state of options.onCommandToSeries?.(command) ?? []) writeSeries(state);
      return PLACE;
    },
    async states() {
      return new Map(log.map((state) => [state.jobId, state]));
    },
    async orderSeries() {
      return PLACE;
    },
    async series() {
      return new Map(seriesLog.map((state) => [state.series, state]));
    },
    async jobsAndSeries() {
      return { states: await this.states(), series: await this.series() };
    },
    followSeries: (onState, signal) => followAll(seriesLog, seriesFollowers, onState, signal),
    async checkpoints() {
      return options.checkpoints ?? [];
    },
    follow: (onState, signal) => followAll(log, followers, onState, signal),
    async close() {},
  };
}
