/** The switch for everything: one command that pauses every running job at once. Resume lets each go on. */
import { randomUUID } from 'node:crypto';
import type { JobState } from '@tidemark/contracts';
import { ALL_JOBS, CommandName } from '@tidemark/jobs';
import { newsAfter } from './await-state.ts';
import { ANSWER_TIMEOUT_MS } from './limits.ts';
import { commandOf, effectOf, type Order, OrderEffect } from './order.ts';
import type { ControlParts } from './parts.ts';
import { isApplied, type SteerOptions } from './steer.ts';

export type KillAllAnswer =
  /** All that were running are paused now. */
  | { readonly kind: 'applied'; readonly states: readonly JobState[] }
  | { readonly kind: 'dry run'; readonly states: readonly JobState[] }
  | { readonly kind: 'ordered' }
  /** `left` are not stopped yet. */
  | { readonly kind: 'unanswered'; readonly left: readonly JobState[]; readonly waitedMs: number };

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
  const states = [...(await jobLog.states()).values()].filter(isKillable);
  if (options.dryRun === true) return { kind: 'dry run', states };
  const command = commandOf(kill, undefined, randomUUID());
  const place = await jobLog.command(command);
  const timeoutMs = options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS;
  if (timeoutMs === 0) return { kind: 'ordered' };
  const left = new Map(states.map((state) => [state.jobId, { state, isNews: newsAfter(state) }]));
  const killed: JobState[] = [];
  const enough = new AbortController();
  if (left.size === 0) enough.abort();
  const stops = [
    enough.signal,
    AbortSignal.timeout(timeoutMs),
    ...(options.signal === undefined ? [] : [options.signal]),
  ];
  await jobLog.follow((seen) => {
    if (left.get(seen.jobId)?.isNews(seen) !== true) return;
    if (isKillable(seen) && !isApplied(seen, command, place)) return;
    left.delete(seen.jobId);
    killed.push(seen);
    if (left.size === 0) enough.abort();
  }, AbortSignal.any(stops));
  return left.size === 0
    ? { kind: 'applied', states: killed }
    : { kind: 'unanswered', left: [...left.values()].map(({ state }) => state), waitedMs: timeoutMs };
}
