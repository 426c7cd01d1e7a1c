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

export interface PlanOptions {
  /** Wait for a worker that knows the handler instead of refusing. */
  readonly allowUnknownHandler?: boolean;
  /** For a plan that begins where the pin would. */
  readonly floors?: PlanParts['floors'];
}

export interface SubmitOptions extends Pick<PlanOptions, 'allowUnknownHandler'> {
  /** 0 = do not wait for the distributor. */
  readonly answerTimeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** What a job would cover, as far as it can be known before it is asked for. */
export interface PlannedJob {
  readonly kind: 'planned';
  readonly window: PlannedWindow;
  readonly ranges: number;
}

/** What a request asks for cannot be, whether or not it is new. */
export type RequestRefusal =
  /** Of a built-in handler that writes to a topic. */
  | ({ readonly kind: 'target refused' } & RefusedTarget)
  | { readonly kind: 'unknown handler'; readonly known: readonly string[] }
  | { readonly kind: 'not idempotent' }
  | Exclude<WindowPlan, PlannedWindow>;

/** What a job of this id was answered before. */
type FormerAnswer =
  | {
      readonly kind: 'accepted';
      readonly state: JobState;
      /** False when the same job was there already. */
      readonly created: boolean;
    }
  | { readonly kind: 'refused'; readonly state: JobState }
  | { readonly kind: 'other content'; readonly state: JobState };

/** Why there is nothing to ask for. */
type Unplanned = FormerAnswer | RequestRefusal | { readonly kind: 'invalid'; readonly faults: readonly string[] };

export type JobPlan = PlannedJob | Unplanned;

export type SubmitAnswer =
  | Unplanned
  | { readonly kind: 'requested' }
  /** The request is durable and will be answered when a distributor runs. */
  | { readonly kind: 'unanswered'; readonly waitedMs: number };

/** What a submit would ask for, or why it would not; nothing is written. */
export async function planJob(
  parts: Pick<ControlParts, 'cluster' | 'jobLog' | 'schedule' | 'namespace'>,
  request: JobRequested,
  options: PlanOptions = {},
): Promise<JobPlan> {
  const faults = requestFaults(request);
  if (faults.length > 0) return { kind: 'invalid', faults };
  const states = await parts.jobLog.states();
  const present = states.get(request.jobId);
  return present === undefined
    ? checkRequest(parts, request, { ...options, states })
    : answerOf(present, request, { created: false });
}

/**
 * Asks for what was planned, and hears what became of it. Needs no part of the job on the broker before: the first request of
 * a namespace may create nothing but its record.
 */
export async function submitJob(
  parts: Pick<ControlParts, 'cluster' | 'jobLog' | 'schedule' | 'namespace'>,
  request: JobRequested,
  options: SubmitOptions = {},
): Promise<SubmitAnswer> {
  const plan = await planJob(parts, request, options);
  if (plan.kind !== 'planned') return plan;
  await parts.jobLog.request(request);
  return awaitAnswer(parts, request, options);
}

/** What a new request would cover, or why it cannot be. */
export async function checkRequest(
  parts: Pick<ControlParts, 'cluster' | 'schedule' | 'namespace'>,
  request: JobRequested,
  options: PlanOptions & { readonly states: ReadonlyMap<string, JobState> },
): Promise<PlannedJob | RequestRefusal> {
  const window = await planWindow(
    { catalog: parts.cluster.catalog, states: async () => options.states, floors: options.floors },
    {
      topic: request.topic,
      from: request.from,
      to: request.to,
      disorderMs: request.disorderMs,
      onLost: request.onLost === OnLost.skip ? OnLost.skip : OnLost.stop,
    },
  );
  if (window.kind !== 'planned') return window;
  const target = await targetRefusal(parts.cluster.catalog, request, parts.namespace);
  if (target !== undefined) return { kind: 'target refused', ...target };
  const refusal = await refusalOfHandler(parts, request, options);
  return refusal ?? { kind: 'planned', window, ranges: planRanges(window.partitions, request).length };
}

async function refusalOfHandler(
  parts: Pick<ControlParts, 'schedule'>,
  request: JobRequested,
  options: Pick<PlanOptions, 'allowUnknownHandler'>,
): Promise<Extract<RequestRefusal, { readonly kind: 'unknown handler' | 'not idempotent' }> | undefined> {
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
  return state === undefined
    ? { kind: 'unanswered', waitedMs: timeoutMs }
    : answerOf(state, request, { created: true });
}

function answerOf(state: JobState, request: JobRequested, { created }: { readonly created: boolean }): FormerAnswer {
  if (!isSameContent(state.request, request)) return { kind: 'other content', state };
  return jobVerdictOf(state) === JobVerdict.refused ? { kind: 'refused', state } : { kind: 'accepted', state, created };
}
