/**
 * The switch for everything: one command that pauses every running job and stops every series, so that nothing begins any more
 * but what is asked for afterwards. A resume lets each of them go on.
 */
import { randomUUID } from 'node:crypto';
import type { JobState, SeriesState } from '@tidemark/contracts';
import { ALL_JOBS, CommandName, SeriesStatus } from '@tidemark/jobs';
import { newsAfter } from './await-state.ts';
import { ANSWER_TIMEOUT_MS } from './limits.ts';
import { commandOf, effectOf, type Order, OrderEffect } from './order.ts';
import type { ControlParts } from './parts.ts';
import { isApplied, type SteerOptions } from './steer.ts';

interface Killed {
  readonly states: readonly JobState[];
  readonly series: readonly SeriesState[];
}

export type KillAllAnswer =
  /** All jobs that were running are paused now, and all series that were active are stopped. */
  | ({ readonly kind: 'applied' } & Killed)
  | ({ readonly kind: 'dry run' } & Killed)
  | { readonly kind: 'ordered' }
  /** `left` are the ids and names of what is not stopped yet. */
  | { readonly kind: 'unanswered'; readonly left: readonly string[]; readonly waitedMs: number };

/**
 * Written also when nothing runs by what is known here: a job that is on its way is meant, too. What it waits for is what
 * was running before.
 */
export async function killAll(
  { jobLog }: Pick<ControlParts, 'jobLog'>,
  order: Pick<Order, 'reason' | 'actor'>,
  options: SteerOptions = {},
): Promise<KillAllAnswer> {
  const kill: Order = { ...order, jobId: ALL_JOBS, command: CommandName.kill };
  const isKillable = (state: JobState): boolean => effectOf(kill, state) === OrderEffect.acts;
  const present = await jobLog.jobsAndSeries();
  const states = [...present.states.values()].filter(isKillable);
  const series = [...present.series.values()].filter(isActive);
  if (options.dryRun === true) return { kind: 'dry run', states, series };
  const command = commandOf(kill, undefined, randomUUID());
  const place = await jobLog.command(command);
  const timeoutMs = options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS;
  if (timeoutMs === 0) return { kind: 'ordered' };
  const jobsLeft = new Map(states.map((state) => [state.jobId, newsAfter(state)]));
  const seriesLeft = new Map(series.map((state) => [state.series, state]));
  const killed = { states: [] as JobState[], series: [] as SeriesState[] };
  const enough = new AbortController();
  const onStopped = (): void => {
    if (jobsLeft.size + seriesLeft.size === 0) enough.abort();
  };
  onStopped();
  const signal = AbortSignal.any([
    enough.signal,
    AbortSignal.timeout(timeoutMs),
    ...(options.signal === undefined ? [] : [options.signal]),
  ]);
  const onState = (seen: JobState): void => {
    if (jobsLeft.get(seen.jobId)?.(seen) !== true) return;
    if (isKillable(seen) && !isApplied(seen, command, place)) return;
    jobsLeft.delete(seen.jobId);
    killed.states.push(seen);
    onStopped();
  };
  const onSeries = (seen: SeriesState): void => {
    const before = seriesLeft.get(seen.series);
    if (before === undefined) return;
    // One that was stopped or deleted otherwise meanwhile begins nothing either.
    const isNewlyAtRest = seen.updatedAtMs > before.updatedAtMs && !isActive(seen);
    if (!isNewlyAtRest && !seen.orderIds.includes(command.commandId)) return;
    seriesLeft.delete(seen.series);
    killed.series.push(seen);
    onStopped();
  };
  await Promise.all([jobLog.follow(onState, signal), jobLog.followSeries(onSeries, signal)]);
  const left = [...jobsLeft.keys(), ...[...seriesLeft.keys()].map((name) => `series ${name}`)];
  return left.length === 0 ? { kind: 'applied', ...killed } : { kind: 'unanswered', left, waitedMs: timeoutMs };
}

function isActive({ status }: SeriesState): boolean {
  return status === SeriesStatus.active;
}
