/**
 * The states of a job, and the one function that moves between them.
 *
 *     (none) --requested--> REQUESTED --pinned--> PINNING --accepted--> RUNNING
 *                               \---------refused----/--> REFUSED (can never run)
 *
 *     RUNNING --completed--> COMPLETED (a CompletedReason)                    PAUSING may still complete or break, too
 *             --broken-----> UNRECOVERABLE
 *             --suspended--> SUSPENDED ----------------------------resumed--> RUNNING
 *             --pausing----> PAUSING --paused, killed--> PAUSED ---resumed--> RUNNING
 *             --killed---------------------------------> PAUSED
 *
 *     PINNING, RUNNING, PAUSING, PAUSED, SUSPENDED --cancelling--> CANCELLING --cancelled--> CANCELLED
 *
 * PINNING = the window is durable, but not yet that the log is held for it. From RUNNING on both are: a restore puts the
 * floors of such a job back, whatever was given up meanwhile.
 *
 * PAUSING and CANCELLING are durable before the store hears of them. They last until no range is held any more or until
 * `deadlineAtMs`, which a forced command brings forward; what was settled until then is in the checkpoints that are written
 * together with PAUSED or CANCELLED. A killed job is PAUSED at once.
 *
 * Beside its state a job may be held for an audit (audit-hold.ts): that begins with the request, gets its deadline with the
 * end, and ends by --released-- (an order, at any time) or --hold over-- (the deadline). It is the one thing of a job that
 * still changes after its end; that, and `floors released`, which says what a guard gave up of what is held for it.
 *
 * Words that a newer distributor wrote are foreign: a job in such a state is not over, and nothing here moves it.
 *
 * The first terminal event of a job wins: whatever a worker on a restored copy believes later changes nothing.
 * One writer: the distributor that holds the shard's transactional id.
 */
import type {
  Budget,
  Counters,
  JobCommand,
  JobEvent,
  JobRequested,
  JobState,
  LostOffsets,
  Pin,
  ReleasedFloor,
} from '@tidemark/contracts';
import { assertNever } from '@tidemark/keyspace';
import { auditDeadlineOf, holdAtEnd, holdAtRequest, isHeldForAudit } from './audit-hold.ts';
import { journal, releasedText, type TransitionTime } from './job-audit.ts';
import { COMMAND_IDS_MAX } from './limits.ts';
import { isSameContent } from './request-content.ts';

export const JobPhase = {
  requested: 'REQUESTED',
  pinning: 'PINNING',
  running: 'RUNNING',
  pausing: 'PAUSING',
  paused: 'PAUSED',
  suspended: 'SUSPENDED',
  cancelling: 'CANCELLING',
  completed: 'COMPLETED',
  cancelled: 'CANCELLED',
  unrecoverable: 'UNRECOVERABLE',
  refused: 'REFUSED',
} as const;
export type JobPhase = (typeof JobPhase)[keyof typeof JobPhase];

const TERMINAL: ReadonlySet<string> = new Set([
  JobPhase.completed,
  JobPhase.cancelled,
  JobPhase.unrecoverable,
  JobPhase.refused,
]);

export function isTerminal(phase: string): boolean {
  return TERMINAL.has(phase);
}

/** The place of a request or command in the jobs topic. */
export interface CommandPlace {
  readonly partition: number;
  readonly offset: bigint;
}

/** What a job came to: the sum over its ranges and what could not be read. */
export interface JobResult {
  readonly totals: Counters;
  readonly lost: readonly LostOffsets[];
}

export type JobTransition =
  | { readonly kind: 'requested'; readonly request: JobRequested; readonly place: CommandPlace }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'pinned'; readonly pin: Pin }
  | { readonly kind: 'accepted' }
  | { readonly kind: 'completed'; readonly reason: string; readonly result: JobResult }
  | { readonly kind: 'broken'; readonly reason: string; readonly result: JobResult }
  | { readonly kind: 'suspended'; readonly reason: string }
  /** `how` the wait for chunks ended goes into the audit trail; the reason of the state stays that of the command. */
  | { readonly kind: 'paused'; readonly how: string }
  | { readonly kind: 'cancelled'; readonly how: string; readonly result: JobResult }
  /** The deadline of the hold has come. */
  | { readonly kind: 'hold over' }
  /** A guard gave up what was held for the job. Those that are known already change nothing. */
  | { readonly kind: 'floors released'; readonly floors: JobState['releasedFloors'] }
  | JobOrder;

/** What people order. A command id that the job knows changes nothing. */
export type JobOrder =
  | ({ readonly kind: 'pausing'; readonly deadlineAtMs: bigint } & Commanded)
  | ({ readonly kind: 'killed' } & Commanded)
  /** `budget` null and `deadLettersMax` -1 = as before. */
  | ({ readonly kind: 'resumed'; readonly budget: Budget | null; readonly deadLettersMax: bigint } & Commanded)
  | ({ readonly kind: 'cancelling'; readonly deadlineAtMs: bigint } & Commanded)
  /** Of the hold for an audit. */
  | ({ readonly kind: 'released' } & Commanded);

export interface Commanded {
  readonly commandId: string;
  readonly reason: string;
  readonly actor: string;
  readonly place: CommandPlace;
}

export type TransitionAnswer =
  /** Write both in one transaction. */
  | { readonly kind: 'moved'; readonly state: JobState; readonly events: readonly JobEvent[] }
  /** The same wish or command again: answer with the state that is there. */
  | { readonly kind: 'same'; readonly state: JobState }
  /** The job stays as it is; the events, if any, are written. */
  | { readonly kind: 'refused'; readonly reason: string; readonly events: readonly JobEvent[] };

export function transition(state: JobState | undefined, event: JobTransition, time: TransitionTime): TransitionAnswer {
  if (event.kind === 'requested') return request(state, event, time);
  if (state === undefined) return { kind: 'refused', reason: 'no such job', events: [] };
  if (isOrder(event)) return order(state, event, time);
  if (event.kind === 'hold over') return holdOver(state, time);
  if (event.kind === 'floors released') return noteReleased(state, event.floors, time);
  return isTerminal(state.state) ? refuseIn(state, 'it has ended') : step(state, event, time);
}

function isOrder(event: JobTransition): event is JobOrder {
  return 'commandId' in event;
}

/** What a job does by itself. */
function step(
  state: JobState,
  event: Exclude<JobTransition, JobOrder | { kind: 'requested' | 'hold over' | 'floors released' }>,
  time: TransitionTime,
): TransitionAnswer {
  const { state: phase } = state;
  switch (event.kind) {
    case 'refused': {
      if (phase !== JobPhase.requested && phase !== JobPhase.pinning) return refuseIn(state, 'it was accepted before');
      const { reason } = event;
      const change = { state: JobPhase.refused, reason, heldForAuditUntilMs: 0n };
      return move(state, change, journal(state, 'JobRefused', time, { reason }));
    }
    case 'pinned': {
      if (phase !== JobPhase.requested) return refuseIn(state, 'it was pinned before');
      const { pin } = event;
      return move(state, { state: JobPhase.pinning, reason: '', pin }, journal(state, 'JobPinned', time, { pin }));
    }
    case 'accepted':
      if (phase !== JobPhase.pinning) return refuseIn(state, 'only a pinned job can be accepted');
      return move(state, { state: JobPhase.running, reason: '' }, journal(state, 'JobStarted', time));
    case 'completed':
    case 'broken': {
      if (phase !== JobPhase.running && phase !== JobPhase.pausing)
        return refuseIn(state, 'only a job with working ranges can end by itself');
      const [next, kind] =
        event.kind === 'completed'
          ? ([JobPhase.completed, 'JobCompleted'] as const)
          : ([JobPhase.unrecoverable, 'JobUnrecoverable'] as const);
      const { reason, result } = event;
      const entry = journal(state, kind, time, { reason, totals: result.totals });
      const heldForAuditUntilMs = holdAtEnd(state, time.atMs);
      return move(state, { state: next, reason, heldForAuditUntilMs, ...resultOf(result) }, entry);
    }
    case 'suspended': {
      if (phase !== JobPhase.running) return refuseIn(state, 'only a running job can be suspended');
      const { reason } = event;
      return move(state, { state: JobPhase.suspended, reason }, journal(state, 'JobSuspended', time, { reason }));
    }
    case 'paused':
      if (phase !== JobPhase.pausing) return refuseIn(state, 'it is not being paused');
      return move(state, { state: JobPhase.paused }, journal(state, 'JobPaused', time, { reason: event.how }));
    case 'cancelled': {
      if (phase !== JobPhase.cancelling) return refuseIn(state, 'it is not being cancelled');
      const details = { reason: event.how, totals: event.result.totals };
      const entry = journal(state, 'JobCancelled', time, details);
      const heldForAuditUntilMs = holdAtEnd(state, time.atMs);
      return move(state, { state: JobPhase.cancelled, heldForAuditUntilMs, ...resultOf(event.result) }, entry);
    }
    default:
      return assertNever(event);
  }
}

/** What people order; refusals say what the job is, because whoever ordered it has to be told. */
function order(state: JobState, event: JobOrder, time: TransitionTime): TransitionAnswer {
  const { state: phase } = state;
  if (event.commandId !== '' && state.commandIds.includes(event.commandId)) return { kind: 'same', state };
  if (event.kind === 'released') return release(state, event, time);
  if (isTerminal(phase)) return refuseIn(state, 'it has ended');
  const { reason } = event;
  switch (event.kind) {
    case 'pausing': {
      const { deadlineAtMs } = event;
      if (phase === JobPhase.pausing && deadlineAtMs >= state.deadlineAtMs)
        return refuseIn(state, 'it is being paused already');
      if (phase !== JobPhase.running && phase !== JobPhase.pausing)
        return refuseIn(state, 'only a running job can be paused');
      return command(state, event, { state: JobPhase.pausing, reason, deadlineAtMs }, 'JobPausing', time);
    }
    case 'killed': {
      if (phase !== JobPhase.running && phase !== JobPhase.pausing) return refuseIn(state, 'nothing of it runs');
      const said = { ...event, reason: reason === '' ? 'killed' : `killed: ${reason}` };
      return command(state, said, { state: JobPhase.paused, reason: said.reason }, 'JobPaused', time);
    }
    case 'resumed': {
      if (phase === JobPhase.running) return refuseIn(state, 'it is running already');
      if (phase !== JobPhase.paused && phase !== JobPhase.suspended)
        return refuseIn(state, 'only a paused or suspended job can be resumed');
      const change = { state: JobPhase.running, reason: '', ...capsAfter(state, event) };
      return command(state, event, change, 'JobResumed', time);
    }
    case 'cancelling': {
      const { deadlineAtMs } = event;
      if (phase === JobPhase.cancelling && deadlineAtMs >= state.deadlineAtMs)
        return refuseIn(state, 'it is being cancelled already');
      if (!CANCELLABLE.has(phase)) return refuseIn(state, 'a job in this state cannot be cancelled');
      return command(state, event, { state: JobPhase.cancelling, reason, deadlineAtMs }, 'JobCancelling', time);
    }
    default:
      return assertNever(event);
  }
}

/** What a job may use up after a resume: what that does not raise stays as it was. */
export function capsAfter(
  state: JobState,
  { budget, deadLettersMax }: Pick<JobCommand, 'budget' | 'deadLettersMax'>,
): Pick<JobState, 'budget' | 'deadLettersMax'> {
  return {
    budget: budget ?? state.budget,
    deadLettersMax: deadLettersMax < 0n ? state.deadLettersMax : deadLettersMax,
  };
}

const CANCELLABLE: ReadonlySet<string> = new Set([
  JobPhase.pinning,
  JobPhase.running,
  JobPhase.pausing,
  JobPhase.paused,
  JobPhase.suspended,
  JobPhase.cancelling,
]);

/** Same id and same content is the same job, in whatever state it is; other content is refused and changes nothing. */
function request(
  state: JobState | undefined,
  event: Extract<JobTransition, { kind: 'requested' }>,
  time: TransitionTime,
): TransitionAnswer {
  const by = { ...time, actor: event.request.requestedBy };
  if (state !== undefined) {
    if (isSameContent(state.request, event.request)) return { kind: 'same', state };
    const reason = `job ${state.jobId} exists with other content`;
    return { kind: 'refused', reason, events: [journal(state, 'JobDuplicateRefused', by, { reason })] };
  }
  const created: JobState = {
    formatVersion: 1,
    jobId: event.request.jobId,
    request: event.request,
    state: JobPhase.requested,
    reason: '',
    pin: null,
    totals: null,
    lost: [],
    requestedAtMs: time.atMs,
    updatedAtMs: time.atMs,
    lastCommandPartition: event.place.partition,
    lastCommandOffset: event.place.offset,
    budget: null,
    deadLettersMax: -1n,
    ranMs: 0n,
    runningSinceMs: 0n,
    deadlineAtMs: 0n,
    commandIds: [],
    heldForAuditUntilMs: holdAtRequest(event.request),
    releasedFloors: [],
  };
  const entry = journal(created, 'JobRequested', by, { reason: event.request.note });
  return { kind: 'moved', state: created, events: [entry] };
}

/** How long the job has been RUNNING in all. */
export function ranMsOf({ state, ranMs, runningSinceMs, updatedAtMs }: JobState, nowMs: bigint): bigint {
  if (state !== JobPhase.running) return ranMs;
  // A state from before this was counted began to run when it was written.
  const sinceMs = runningSinceMs === 0n ? updatedAtMs : runningSinceMs;
  return ranMs + (nowMs > sinceMs ? nowMs - sinceMs : 0n);
}

function move(state: JobState, change: Partial<JobState>, event: JobEvent): TransitionAnswer {
  const { atMs } = event;
  const isRunning = change.state === JobPhase.running;
  const next: JobState = {
    ...state,
    ranMs: ranMsOf(state, atMs),
    runningSinceMs: isRunning ? atMs : 0n,
    deadlineAtMs: 0n,
    ...change,
    updatedAtMs: atMs,
  };
  return { kind: 'moved', state: next, events: [event] };
}

function command(
  state: JobState,
  { commandId, reason, actor, place }: Commanded,
  change: Partial<JobState>,
  kind: string,
  time: TransitionTime,
): TransitionAnswer {
  const applied = appliedOf(state, { commandId, place });
  return move(state, { ...change, ...applied }, journal(state, kind, { ...time, actor }, { reason }));
}

function appliedOf(
  { commandIds }: JobState,
  { commandId, place }: Pick<Commanded, 'commandId' | 'place'>,
): Pick<JobState, 'lastCommandPartition' | 'lastCommandOffset' | 'commandIds'> {
  const known = commandId === '' ? commandIds : [...commandIds, commandId].slice(-COMMAND_IDS_MAX);
  return { lastCommandPartition: place.partition, lastCommandOffset: place.offset, commandIds: known };
}

/** What the job does, and how long it has done it, stays as it is. */
function noted(state: JobState, change: Partial<JobState>, event: JobEvent): TransitionAnswer {
  return { kind: 'moved', state: { ...state, ...change, updatedAtMs: event.atMs }, events: [event] };
}

function release(state: JobState, event: Commanded, time: TransitionTime): TransitionAnswer {
  if (!isHeldForAudit(state)) return refuseIn(state, 'the log is not held for an audit of it');
  const { actor, reason } = event;
  const entry = journal(state, 'JobAuditHoldReleased', { ...time, actor }, { reason });
  return noted(state, { heldForAuditUntilMs: 0n, ...appliedOf(state, event) }, entry);
}

function holdOver(state: JobState, time: TransitionTime): TransitionAnswer {
  const untilMs = auditDeadlineOf(state);
  if (untilMs === undefined || time.atMs < untilMs) return refuseIn(state, 'the time of a hold is not over');
  const reason = `nobody proved it within ${state.request.holdForAuditMs / 1_000n} s of its end`;
  return noted(state, { heldForAuditUntilMs: 0n }, journal(state, 'JobAuditHoldEnded', time, { reason }));
}

function noteReleased(state: JobState, floors: JobState['releasedFloors'], time: TransitionTime): TransitionAnswer {
  const isKnown = (floor: ReleasedFloor): boolean =>
    state.releasedFloors.some(({ partition, ofAudit }) => partition === floor.partition && ofAudit === floor.ofAudit);
  const news = floors.filter((floor) => !isKnown(floor));
  if (news.length === 0) return { kind: 'same', state };
  const entry = journal(state, 'JobFloorReleased', time, { reason: releasedText(news) });
  return noted(state, { releasedFloors: [...state.releasedFloors, ...news] }, entry);
}

function refuseIn(state: JobState, why: string): TransitionAnswer {
  return { kind: 'refused', reason: `job ${state.jobId} is ${state.state}: ${why}`, events: [] };
}

function resultOf(result: JobResult): Pick<JobState, 'totals' | 'lost'> {
  return { totals: result.totals, lost: [...result.lost] };
}
