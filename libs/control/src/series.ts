/** Series for an operator: checks beforehand, an order with an id, and what became of it. The distributor decides. */
import { randomUUID } from 'node:crypto';
import type { SeriesDefinition, SeriesOrder, SeriesState } from '@tidemark/contracts';
import { definitionFaults, isHeld, isSameSeries, moveSeries, SeriesOrderName, SeriesStatus } from '@tidemark/jobs';
import { ANSWER_TIMEOUT_MS } from './limits.ts';
import type { ControlParts } from './parts.ts';
import { checkRequest, type PlannedJob, type RequestRefusal } from './submit.ts';

export interface SeriesOptions {
  readonly reason: string;
  readonly actor: string;
  /** 0 = do not wait for the distributor. */
  readonly answerTimeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Why there is nothing to create. */
type Unplanned =
  /** `created` is false when the same series was there already. */
  | { readonly kind: 'created'; readonly state: SeriesState; readonly created: boolean }
  | { readonly kind: 'other content'; readonly state: SeriesState }
  | { readonly kind: 'refused'; readonly state: SeriesState }
  | { readonly kind: 'invalid series'; readonly faults: readonly string[] }
  | RequestRefusal;

/** Of its first run, if that were due now. */
export type SeriesPlan = PlannedJob | Unplanned;

export type CreateSeriesAnswer =
  | Unplanned
  | { readonly kind: 'unanswered'; readonly waitedMs: number }
  | { readonly kind: 'ordered' };

export type OrderSeriesAnswer =
  /** `before` is what it was when the order was given. */
  | { readonly kind: 'applied'; readonly state: SeriesState; readonly before: SeriesState }
  /** It would be followed; nothing was ordered. */
  | { readonly kind: 'dry run'; readonly state: SeriesState }
  | { readonly kind: 'unknown series' }
  | { readonly kind: 'not in this state'; readonly state: SeriesState; readonly reason: string }
  | { readonly kind: 'unanswered'; readonly waitedMs: number }
  | { readonly kind: 'ordered' };

type SeriesParts = Pick<ControlParts, 'jobLog'>;

type PlanParts = Pick<ControlParts, 'cluster' | 'jobLog' | 'schedule' | 'namespace'>;

/** What a creation would order, or why it would not; nothing is written. */
export async function planSeries(
  parts: PlanParts,
  definition: SeriesDefinition,
  options: { readonly allowUnknownHandler?: boolean } = {},
): Promise<SeriesPlan> {
  const { request } = definition;
  const faults = definitionFaults(request.jobId, definition);
  if (faults.length > 0) return { kind: 'invalid series', faults };
  const { states, series } = await parts.jobLog.jobsAndSeries();
  const present = series.get(request.jobId);
  if (present !== undefined && isHeld(present)) return createdOf(present, definition, false);
  return checkRequest(parts, request, { ...options, states });
}

export async function createSeries(
  parts: PlanParts,
  definition: SeriesDefinition,
  options: SeriesOptions & { readonly allowUnknownHandler?: boolean },
): Promise<CreateSeriesAnswer> {
  const plan = await planSeries(parts, definition, options);
  if (plan.kind !== 'planned') return plan;
  const order = orderOf(definition.request.jobId, SeriesOrderName.create, options, definition);
  const answer = await giveOrder(parts, order, options, () => true);
  return 'status' in answer ? createdOf(answer, definition, true) : answer;
}

export async function orderSeries(
  parts: SeriesParts,
  { series, order: name }: { readonly series: string; readonly order: Exclude<SeriesOrderName, 'create'> },
  options: SeriesOptions & { readonly dryRun?: boolean },
): Promise<OrderSeriesAnswer> {
  const before = (await parts.jobLog.series()).get(series);
  if (before === undefined) return { kind: 'unknown series' };
  const order = orderOf(series, name, options, null);
  const { orderId, reason, actor } = order;
  const kind = EVENTS[name];
  const time = { atMs: BigInt(Date.now()), actor };
  const expected = moveSeries(before, { kind, orderId, reason, actor }, time);
  if (expected.kind === 'refused') return { kind: 'not in this state', state: before, reason: expected.reason };
  if (options.dryRun === true) return { kind: 'dry run', state: before };
  const isDone = (state: SeriesState): boolean => name !== SeriesOrderName.run || hasRun(before, state);
  const answer = await giveOrder(parts, order, options, isDone);
  if (!('status' in answer)) return answer;
  return isFollowed(name, answer)
    ? { kind: 'applied', state: answer, before }
    : { kind: 'not in this state', state: answer, reason: `series ${series} is ${answer.status}` };
}

const EVENTS = { run: 'run', resume: 'resumed', delete: 'deleted' } as const;

/** The window was looked at, or a run that is live is first. */
function hasRun(before: SeriesState, { status, liveRun, lookedAtMs }: SeriesState): boolean {
  if (status !== SeriesStatus.active || lookedAtMs > before.lookedAtMs) return true;
  return before.liveRun !== '' && liveRun === before.liveRun;
}

function isFollowed(name: SeriesOrderName, { status }: SeriesState): boolean {
  if (name === SeriesOrderName.delete) return status === SeriesStatus.deleted;
  // A run that was ordered may have found why the series cannot go on; that is its answer.
  return name === SeriesOrderName.run || status === SeriesStatus.active;
}

function createdOf(state: SeriesState, definition: SeriesDefinition, created: boolean): Unplanned {
  if (!isSameSeries(state.definition, definition)) return { kind: 'other content', state };
  return isHeld(state) ? { kind: 'created', state, created } : { kind: 'refused', state };
}

function orderOf(
  series: string,
  order: SeriesOrderName,
  { reason, actor }: SeriesOptions,
  definition: SeriesDefinition | null,
): SeriesOrder {
  return { formatVersion: 1, orderId: randomUUID(), series, order, definition, reason, actor };
}

/** The state in which it was answered, as soon as it is as wanted. */
async function giveOrder(
  { jobLog }: SeriesParts,
  order: SeriesOrder,
  options: SeriesOptions,
  isDone: (state: SeriesState) => boolean,
): Promise<SeriesState | { readonly kind: 'unanswered'; readonly waitedMs: number } | { readonly kind: 'ordered' }> {
  await jobLog.orderSeries(order);
  const timeoutMs = options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS;
  if (timeoutMs === 0) return { kind: 'ordered' };
  const enough = new AbortController();
  const stops = [
    enough.signal,
    AbortSignal.timeout(timeoutMs),
    ...(options.signal === undefined ? [] : [options.signal]),
  ];
  let found: SeriesState | undefined;
  await jobLog.followSeries((state) => {
    if (found !== undefined || state.series !== order.series) return;
    if (!state.orderIds.includes(order.orderId) || !isDone(state)) return;
    found = state;
    enough.abort();
  }, AbortSignal.any(stops));
  return found ?? { kind: 'unanswered', waitedMs: timeoutMs };
}
