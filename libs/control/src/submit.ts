/**
 * Submitting a job: what can be known beforehand is checked here, so that a mistake is told at once and nothing is
 * written; the distributor decides, and checks again, because the world may change in between.
 */
import type { JobRequested, JobState } from '@tidemark/contracts';
import { isSameContent, OnLost, planRanges, type RefusedTarget, requestFaults, targetRefusal } from '@tidemark/jobs';
import { awaitState } from './await-state.ts';
import { JobVerdict, jobVerdictOf } from './job-verdict.ts';
import { ANSWER_TIMEOUT_MS } from './limits.ts';
import type { ControlParts } from './parts.ts';
import { type PlannedWindow, type PlanParts, planWindow, type WindowPlan } from './plan-window.ts';

export interface SubmitOptions {
  /** Wait for a worker that knows the handler instead of refusing. */
  readonly allowUnknownHandler?: boolean;
  readonly dryRun?: boolean;
  /** For a dry run that begins where the pin would. */
  readonly floors?: PlanParts['floors'];
  /** 0 = do not wait for the distributor. */
  readonly answerTimeoutMs?: number;
  readonly signal?: AbortSignal;
}

export type SubmitAnswer =
  | {
      readonly kind: 'accepted';
      readonly state: JobState /** False when the same job was there already. */;
      readonly created: boolean;
    }
  | { readonly kind: 'dry run'; readonly plan: PlannedWindow; readonly ranges: number }
  | { readonly kind: 'requested' }
  /** The request is durable and will be answered when a distributor runs. */
  | { readonly kind: 'unanswered'; readonly waitedMs: number }
  | { readonly kind: 'refused'; readonly state: JobState }
  | { readonly kind: 'invalid'; readonly faults: readonly string[] }
  /** Of a built-in handler that writes to a topic. */
  | ({ readonly kind: 'target refused' } & RefusedTarget)
  | { readonly kind: 'unknown handler'; readonly known: readonly string[] }
  | { readonly kind: 'not idempotent' }
  | { readonly kind: 'other content'; readonly state: JobState }
  | Exclude<WindowPlan, PlannedWindow>;

export type RequestCheck = Extract<
  SubmitAnswer,
  {
    readonly kind:
      | 'dry run'
      | 'target refused'
      | 'unknown handler'
      | 'not idempotent'
      | 'unknown topic'
      | 'malformed'
      | 'window refused';
  }
>;

/** Needs no part of the job on the broker before: the first request of a namespace may create nothing but its record. */
export async function submitJob(
  parts: Pick<ControlParts, 'cluster' | 'jobLog' | 'schedule' | 'namespace'>,
  request: JobRequested,
  options: SubmitOptions = {},
): Promise<SubmitAnswer> {
  const faults = requestFaults(request);
  if (faults.length > 0) return { kind: 'invalid', faults };
  const states = await parts.jobLog.states();
  const present = states.get(request.jobId);
  if (present !== undefined) return answerOf(present, request, false);
  const checked = await checkRequest(parts, request, { ...options, states });
  if (checked.kind !== 'dry run' || options.dryRun === true) return checked;
  await parts.jobLog.request(request);
  return awaitAnswer(parts, request, options);
}

/** What is known before anything is written: a plan of what it would cover, or why it cannot be. */
export async function checkRequest(
  parts: Pick<ControlParts, 'cluster' | 'schedule' | 'namespace'>,
  request: JobRequested,
  options: Pick<SubmitOptions, 'allowUnknownHandler' | 'floors'> & { readonly states: ReadonlyMap<string, JobState> },
): Promise<RequestCheck> {
  const plan = await planWindow(
    { catalog: parts.cluster.catalog, states: async () => options.states, floors: options.floors },
    {
      topic: request.topic,
      from: request.from,
      to: request.to,
      onLost: request.onLost === OnLost.skip ? OnLost.skip : OnLost.stop,
    },
  );
  if (plan.kind !== 'planned') return plan;
  const target = await targetRefusal(parts.cluster.catalog, request, parts.namespace);
  if (target !== undefined) return { kind: 'target refused', ...target };
  const refusal = await refusalOfHandler(parts, request, options);
  if (refusal !== undefined) return refusal;
  return { kind: 'dry run', plan, ranges: planRanges(plan.partitions, request).length };
}

async function refusalOfHandler(
  parts: Pick<ControlParts, 'schedule'>,
  request: JobRequested,
  options: SubmitOptions,
): Promise<Extract<SubmitAnswer, { readonly kind: 'unknown handler' | 'not idempotent' }> | undefined> {
  const { workers } = await parts.schedule.workers();
  const handlers = new Map(
    workers.flatMap((worker) => worker.handlers.map((handler) => [handler.name, handler] as const)),
  );
  const handler = handlers.get(request.handler);
  if (handler === undefined)
    return options.allowUnknownHandler === true
      ? undefined
      : { kind: 'unknown handler', known: [...handlers.keys()].sort() };
  return handler.idempotent || request.acceptDuplicates ? undefined : { kind: 'not idempotent' };
}

async function awaitAnswer(
  parts: Pick<ControlParts, 'jobLog'>,
  request: JobRequested,
  options: SubmitOptions,
): Promise<SubmitAnswer> {
  const timeoutMs = options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS;
  if (timeoutMs === 0) return { kind: 'requested' };
  const state = await awaitState(parts.jobLog, {
    jobId: request.jobId,
    // Somebody else's job of the same id answers, too: with its content.
    until: (seen) => jobVerdictOf(seen) !== JobVerdict.requested || !isSameContent(seen.request, request),
    timeoutMs,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  return state === undefined ? { kind: 'unanswered', waitedMs: timeoutMs } : answerOf(state, request, true);
}

function answerOf(state: JobState, request: JobRequested, created: boolean): SubmitAnswer {
  if (!isSameContent(state.request, request)) return { kind: 'other content', state };
  return jobVerdictOf(state) === JobVerdict.refused ? { kind: 'refused', state } : { kind: 'accepted', state, created };
}
