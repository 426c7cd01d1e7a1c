/**
 * The states of a series, and the one function that moves between them.
 *
 *     (none, DELETED, REFUSED) --created--> ACTIVE      --refused--> REFUSED (never was one: no topic, ...)
 *
 *     ACTIVE --begun--> ACTIVE with a live run --ended: COMPLETED--> ACTIVE
 *            --looked, rescheduled--> ACTIVE  --ended: any other end, stopped--> STOPPED --resumed--> ACTIVE
 *     ACTIVE --killed--> STOPPED, with its live run if there is one: that is paused, and comes first after a resume
 *     ACTIVE, STOPPED --deleted--> DELETED
 *
 * The ends move in the transaction that pins a run, so windows join whoever crashes where, and a run that ends badly has
 * been passed: a resume goes on after it. DELETED remembers the number of the newest run, so that no job id comes twice.
 *
 * One writer: the distributor. Pure: the time is an argument.
 */
import type { JobEvent, SeriesDefinition, SeriesPartition, SeriesState } from '@tidemark/contracts';
import { assertNever } from '@tidemark/keyspace';
import { journal, type TransitionTime } from './job-audit.ts';
import { JobPhase } from './job-state.ts';
import { ORDER_IDS_MAX } from './limits.ts';
import { holderOf, isSameSeries } from './series-definition.ts';

export const SeriesStatus = {
  active: 'ACTIVE',
  stopped: 'STOPPED',
  deleted: 'DELETED',
  refused: 'REFUSED',
} as const;
export type SeriesStatus = (typeof SeriesStatus)[keyof typeof SeriesStatus];

export const SeriesOrderName = { create: 'create', run: 'run', resume: 'resume', delete: 'delete' } as const;
export type SeriesOrderName = (typeof SeriesOrderName)[keyof typeof SeriesOrderName];

interface Ordered {
  readonly orderId: string;
  readonly reason: string;
  readonly actor: string;
}

export type SeriesTransition =
  | ({
      readonly kind: 'created';
      readonly definition: SeriesDefinition;
      readonly topicId: string;
      /** The first run begins right after these. */
      readonly partitions: readonly SeriesPartition[];
      readonly dueAtMs: bigint;
    } & Ordered)
  | ({ readonly kind: 'refused'; readonly definition: SeriesDefinition; readonly fault: string } & Ordered)
  | ({ readonly kind: 'run' | 'resumed' | 'deleted' } & Ordered)
  /** `isAhead`: of its turn, before orders that were given before it; it comes again, and only then it is remembered. */
  | ({ readonly kind: 'killed'; readonly isAhead: boolean } & Ordered)
  /** The window was empty. */
  | {
      readonly kind: 'looked';
      readonly partitions: readonly SeriesPartition[];
      readonly dueAtMs: bigint;
      readonly skipped: string;
    }
  | {
      readonly kind: 'begun';
      readonly jobId: string;
      readonly number: bigint;
      readonly partitions: readonly SeriesPartition[];
      readonly dueAtMs: bigint;
      /** What somebody removed since the last run, in words; '' if nothing. */
      readonly skipped: string;
    }
  /** The clock was set back. */
  | { readonly kind: 'rescheduled'; readonly dueAtMs: bigint }
  | { readonly kind: 'ended'; readonly phase: string; readonly reason: string }
  | { readonly kind: 'stopped'; readonly reason: string };

export type SeriesAnswer =
  /** Write both in one transaction. */
  | { readonly kind: 'moved'; readonly state: SeriesState; readonly events: readonly JobEvent[] }
  /** The same wish or order again. */
  | { readonly kind: 'same'; readonly state: SeriesState }
  /** The state, if there is one, remembers only that the order was answered. */
  | {
      readonly kind: 'refused';
      readonly reason: string;
      readonly state: SeriesState | undefined;
      readonly events: readonly JobEvent[];
    };

/** Whether the log is held for it. */
export function isHeld({ status }: Pick<SeriesState, 'status'>): boolean {
  // A status that only a newer distributor writes may hold something.
  return status !== SeriesStatus.deleted && status !== SeriesStatus.refused;
}

export function moveSeries(
  state: SeriesState | undefined,
  event: SeriesTransition,
  time: TransitionTime,
): SeriesAnswer {
  if ('orderId' in event) {
    if (state?.orderIds.includes(event.orderId) === true) return { kind: 'same', state };
    if (event.kind === 'created' || event.kind === 'refused') return create(state, event, time);
    return state === undefined || !isHeld(state) ? missing(state, event, time) : order(state, event, time);
  }
  if (state?.status !== SeriesStatus.active)
    return { kind: 'refused', reason: 'the series is not active', state, events: [] };
  return step(state, event, time);
}

type Creation = Extract<SeriesTransition, { kind: 'created' | 'refused' }>;

function create(state: SeriesState | undefined, event: Creation, time: TransitionTime): SeriesAnswer {
  const { definition } = event;
  const by = { ...time, actor: event.actor };
  const name = definition.request.jobId;
  if (state !== undefined && isHeld(state)) {
    if (isSameSeries(state.definition, definition)) return { kind: 'same', state };
    return refuse(state, event, `series ${name} exists with other content`, by);
  }
  const isRefused = event.kind === 'refused';
  const reason = isRefused ? event.fault : '';
  const created: SeriesState = {
    formatVersion: 1,
    series: name,
    definition,
    status: isRefused ? SeriesStatus.refused : SeriesStatus.active,
    reason,
    topicId: isRefused ? '' : event.topicId,
    partitions: isRefused ? [] : [...event.partitions],
    runs: state?.runs ?? 0n,
    liveRun: '',
    dueAtMs: isRefused ? 0n : event.dueAtMs,
    lookedAtMs: 0n,
    createdAtMs: time.atMs,
    updatedAtMs: time.atMs,
    orderIds: remember(state, event.orderId),
  };
  const kind = isRefused ? 'SeriesRefused' : 'SeriesCreated';
  return { kind: 'moved', state: created, events: [entry(created, kind, by, isRefused ? reason : event.reason)] };
}

function order(
  state: SeriesState,
  event: Extract<SeriesTransition, { kind: 'run' | 'resumed' | 'deleted' | 'killed' }>,
  time: TransitionTime,
): SeriesAnswer {
  if (event.kind === 'killed') return kill(state, event, time);
  const by = { ...time, actor: event.actor };
  const move = (change: Partial<SeriesState>, kind: string, reason = event.reason): SeriesAnswer =>
    moved(state, { ...change, orderIds: remember(state, event.orderId) }, by, { kind, reason });
  switch (event.kind) {
    case 'run':
      if (state.status !== SeriesStatus.active)
        return refuse(state, event, `series ${state.series} is ${state.status}: resume it first`, by);
      return move({ dueAtMs: time.atMs }, 'SeriesRunOrdered');
    case 'resumed': {
      if (state.status !== SeriesStatus.stopped)
        return refuse(state, event, `series ${state.series} is ${state.status}: only a stopped one is resumed`, by);
      const lasting = lastingFault(state.reason);
      if (lasting !== undefined) return refuse(state, event, `series ${state.series} cannot go on: ${lasting}`, by);
      return move({ status: SeriesStatus.active, reason: '' }, 'SeriesResumed');
    }
    case 'deleted':
      return move({ status: SeriesStatus.deleted, reason: event.reason, liveRun: '' }, 'SeriesDeleted');
    default:
      return assertNever(event);
  }
}

/**
 * Race: a request waits, behind it a series is ordered to go on, or is created anew, and behind that everything is killed. The kill
 * is applied ahead, the order in its turn; would the series know the kill by then, it would go on. So it knows it only when its turn
 * has come: nothing that was ordered before comes after that.
 */
function kill(
  state: SeriesState,
  event: Extract<SeriesTransition, { kind: 'killed' }>,
  time: TransitionTime,
): SeriesAnswer {
  const orderIds = event.isAhead ? state.orderIds : remember(state, event.orderId);
  if (state.status !== SeriesStatus.active) {
    // One that was stopped before keeps its reason, which a resume may have to heed.
    return event.isAhead ? { kind: 'same', state } : { kind: 'moved', state: { ...state, orderIds }, events: [] };
  }
  const reason = KILLED + event.reason;
  const change = { status: SeriesStatus.stopped, reason, orderIds };
  return moved(state, change, { ...time, actor: event.actor }, { kind: 'SeriesStopped', reason });
}

function step(state: SeriesState, event: Exclude<SeriesTransition, Ordered>, time: TransitionTime): SeriesAnswer {
  switch (event.kind) {
    case 'looked': {
      const { partitions, dueAtMs } = event;
      const next = { ...state, partitions: [...partitions], dueAtMs, lookedAtMs: time.atMs, updatedAtMs: time.atMs };
      return { kind: 'moved', state: next, events: skippedIn(state, event, time) };
    }
    case 'begun': {
      if (state.liveRun !== '') return refuseStep(state, `run ${state.liveRun} has not ended`);
      const { jobId, number, dueAtMs } = event;
      const change = {
        partitions: [...event.partitions],
        runs: number,
        liveRun: jobId,
        dueAtMs,
        lookedAtMs: time.atMs,
      };
      const begun = moved(state, change, time, { kind: 'SeriesRunBegun', reason: jobId });
      return { ...begun, events: [...skippedIn(state, event, time), ...begun.events] };
    }
    case 'rescheduled': {
      const reason = `the clock was set back, it was at ${new Date(Number(state.updatedAtMs)).toISOString()}`;
      return moved(state, { dueAtMs: event.dueAtMs }, time, { kind: 'SeriesRescheduled', reason });
    }
    case 'ended': {
      if (state.liveRun === '') return refuseStep(state, 'no run of it is live');
      if (event.phase === JobPhase.completed)
        return moved(state, { liveRun: '' }, time, { kind: 'SeriesRunCompleted', reason: state.liveRun });
      const why = event.reason === '' ? event.phase : `${event.phase}: ${event.reason}`;
      return stop(state, `RUN_DID_NOT_COMPLETE: run ${state.liveRun} ended as ${why}`, time);
    }
    case 'stopped':
      return stop(state, event.reason, time);
    default:
      return assertNever(event);
  }
}

function skippedIn(
  state: SeriesState,
  { skipped }: { readonly skipped: string },
  time: TransitionTime,
): readonly JobEvent[] {
  return skipped === '' ? [] : [entry(state, 'SeriesRecordsSkipped', time, skipped)];
}

function stop(state: SeriesState, reason: string, time: TransitionTime): SeriesAnswer {
  return moved(state, { status: SeriesStatus.stopped, reason, liveRun: '' }, time, { kind: 'SeriesStopped', reason });
}

const KILLED = 'killed: ';

/** By the order that stopped everything, and not by a run: what follows is the text of whoever gave it. */
export function isKilledSeries({ status, reason }: Pick<SeriesState, 'status' | 'reason'>): boolean {
  return status === SeriesStatus.stopped && reason.startsWith(KILLED);
}

/** What no resume heals, because the next run would find the same. */
export function lastingFault(reason: string): string | undefined {
  return !reason.startsWith(KILLED) && LASTING.test(reason) ? reason : undefined;
}

const LASTING = /\b(TOPIC_RECREATED|TOPIC_NOT_FOUND|RECORDS_GONE|LOG_WENT_BACK): /;

function missing(state: SeriesState | undefined, event: Ordered, time: TransitionTime): SeriesAnswer {
  const reason = state === undefined ? 'no such series' : `series ${state.series} is ${state.status}`;
  if (state === undefined) return { kind: 'refused', reason, state, events: [] };
  return refuse(state, event, reason, { ...time, actor: event.actor });
}

function refuse(state: SeriesState, { orderId }: Ordered, reason: string, time: TransitionTime): SeriesAnswer {
  const answered = { ...state, orderIds: remember(state, orderId) };
  return { kind: 'refused', reason, state: answered, events: [entry(state, 'SeriesOrderRefused', time, reason)] };
}

/** A step that the distributor must not take here. */
function refuseStep(state: SeriesState, why: string): SeriesAnswer {
  return { kind: 'refused', reason: `series ${state.series}: ${why}`, state: undefined, events: [] };
}

function moved(
  state: SeriesState,
  change: Partial<SeriesState>,
  time: TransitionTime,
  { kind, reason }: { readonly kind: string; readonly reason: string },
): Extract<SeriesAnswer, { kind: 'moved' }> {
  const next = { ...state, ...change, updatedAtMs: time.atMs };
  return { kind: 'moved', state: next, events: [entry(state, kind, time, reason)] };
}

function entry({ series }: Pick<SeriesState, 'series'>, kind: string, time: TransitionTime, reason: string): JobEvent {
  return journal({ jobId: holderOf(series) }, kind, time, { reason });
}

function remember(state: SeriesState | undefined, orderId: string): readonly string[] {
  const known = state?.orderIds ?? [];
  return orderId === '' ? known : [...known, orderId].slice(-ORDER_IDS_MAX);
}
