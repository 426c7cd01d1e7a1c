/** Orders to jobs that exist: looked at beforehand, written as commands with an id, and followed to where they lead. */
import { randomUUID } from 'node:crypto';
import type { JobCommand, JobState } from '@tidemark/contracts';
import { CommandName, capsAfter, usedUp } from '@tidemark/jobs';
import { sumCounters } from '@tidemark/keyspace';
import { awaitState } from './await-state.ts';
import { type BudgetUse, budgetUseOf } from './budget-use.ts';
import { JobVerdict, jobVerdictOf, needsPerson } from './job-verdict.ts';
import { ANSWER_TIMEOUT_MS } from './limits.ts';
import { commandOf, effectOf, isFollowed, type Order, OrderEffect } from './order.ts';
import type { ControlParts } from './parts.ts';

export interface SteerOptions {
  readonly dryRun?: boolean;
  /** How long a distributor may take to apply the order; 0 = do not wait. */
  readonly answerTimeoutMs?: number;
  readonly signal?: AbortSignal;
}

export type SteerAnswer =
  | { readonly kind: 'applied'; readonly state: JobState }
  /** Nothing was written: the job is where the order would bring it. */
  | { readonly kind: 'already'; readonly state: JobState }
  /** The job went elsewhere: its work ended first, or another order came. */
  | { readonly kind: 'overtaken'; readonly state: JobState }
  /** Applied, and chunks in flight are still being handled. */
  | { readonly kind: 'under way'; readonly state: JobState }
  | { readonly kind: 'dry run'; readonly state: JobState }
  | { readonly kind: 'ordered' }
  | { readonly kind: 'unanswered'; readonly waitedMs: number }
  | { readonly kind: 'unknown job' }
  | { readonly kind: 'not in this state'; readonly state: JobState }
  /** A resume that raises nothing of what is used up would only suspend the job again. */
  | {
      readonly kind: 'used up';
      readonly state: JobState;
      readonly what: string;
      readonly budget: readonly BudgetUse[];
    };

type SteerParts = Pick<ControlParts, 'jobLog'>;

export async function steerJob(parts: SteerParts, order: Order, options: SteerOptions = {}): Promise<SteerAnswer> {
  const state = (await parts.jobLog.states()).get(order.jobId);
  if (state === undefined) return { kind: 'unknown job' };
  const effect = effectOf(order, state);
  if (effect === OrderEffect.refused) return { kind: 'not in this state', state };
  const command = commandOf(order, state, randomUUID());
  const tooMuch = await usedUpAfter(parts, command, state);
  if (tooMuch !== undefined) return tooMuch;
  if (options.dryRun === true) return { kind: effect === OrderEffect.already ? 'already' : 'dry run', state };
  if (effect === OrderEffect.already) return afterDrain(parts, order, state, options);
  const place = await parts.jobLog.command(command);
  const timeoutMs = options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS;
  if (timeoutMs === 0) return { kind: 'ordered' };
  const after = await awaitState(parts.jobLog, {
    jobId: order.jobId,
    after: state,
    // An order that came too late is not applied, and then its state says so.
    until: (seen) => isApplied(seen, command, place) || effectOf(order, seen) !== OrderEffect.acts,
    timeoutMs,
    ...signalOf(options),
  });
  if (after === undefined) return { kind: 'unanswered', waitedMs: timeoutMs };
  return afterDrain(parts, order, after, options, command);
}

/** A pause or a cancel takes as long as the chunks in flight, at most until its deadline. Without a command nothing was written. */
async function afterDrain(
  parts: SteerParts,
  order: Order,
  seen: JobState,
  options: SteerOptions,
  command?: JobCommand,
): Promise<SteerAnswer> {
  const timeoutMs = options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS;
  // A hold is let go whatever the job does meanwhile.
  const isDraining = (state: JobState): boolean => order.command !== CommandName.release && isStopping(state);
  const drained =
    isDraining(seen) && timeoutMs > 0
      ? await awaitState(parts.jobLog, {
          jobId: order.jobId,
          after: seen,
          until: (newer) => !isDraining(newer),
          timeoutMs: Math.max(0, Number(seen.deadlineAtMs) - Date.now()) + timeoutMs,
          ...signalOf(options),
        })
      : seen;
  if (drained === undefined || isDraining(drained)) return { kind: 'under way', state: drained ?? seen };
  if (!isFollowed(order, drained)) return { kind: 'overtaken', state: drained };
  return { kind: command === undefined ? 'already' : 'applied', state: drained };
}

/** Whether the job would have used up its limits after the order, too. */
async function usedUpAfter(
  { jobLog }: SteerParts,
  command: JobCommand,
  state: JobState,
): Promise<Extract<SteerAnswer, { readonly kind: 'used up' }> | undefined> {
  if (command.command !== CommandName.resume || !needsPerson(jobVerdictOf(state))) return undefined;
  const raised = { ...state, ...capsAfter(state, command) };
  const counters = sumCounters((await jobLog.checkpoints(state.jobId)).map((checkpoint) => checkpoint.counters));
  const what = usedUp(raised, counters, state.updatedAtMs);
  if (what === undefined) return undefined;
  return { kind: 'used up', state, what, budget: budgetUseOf(raised, counters, Number(state.updatedAtMs)) };
}

export function isApplied(
  seen: JobState,
  { commandId }: Pick<JobCommand, 'commandId'>,
  place: { readonly partition: number; readonly offset: bigint },
): boolean {
  return (
    seen.commandIds.includes(commandId) ||
    (seen.lastCommandPartition === place.partition && seen.lastCommandOffset >= place.offset)
  );
}

function isStopping(state: JobState): boolean {
  return jobVerdictOf(state) === JobVerdict.stopping;
}

function signalOf({ signal }: SteerOptions): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}
