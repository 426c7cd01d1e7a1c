/** What an order to a job would do in its present state: pure. The distributor decides, by the rules of `transition` in @tidemark/jobs. */
import type { JobCommand, JobState } from '@tidemark/contracts';
import { budgetOf, CommandName, isHeldForAudit, JobPhase } from '@tidemark/jobs';
import { assertNever } from '@tidemark/keyspace';
import { isOver, jobVerdictOf, needsPerson } from './job-verdict.ts';

/** Counted from the start of the job; 0 = no limit, but of dead letters it allows none. Left out = as before. */
export interface Raise {
  readonly secondsMax?: bigint;
  readonly chunksMax?: bigint;
  readonly failuresMax?: bigint;
  readonly deadLettersMax?: bigint;
}

export interface Order {
  readonly jobId: string;
  readonly command: CommandName;
  readonly reason: string;
  readonly actor: string;
  /** With pause and cancel: do not wait for chunks in flight. */
  readonly force?: boolean;
  /** With pause and cancel: how long chunks in flight may take; left out = the default of the distributor. */
  readonly deadlineMs?: number;
  /** With resume. */
  readonly raise?: Raise;
}

export const OrderEffect = {
  acts: 'acts',
  /** The job is there, or on its way there. */
  already: 'already',
  /** It makes no sense in this state. */
  refused: 'refused',
} as const;
export type OrderEffect = (typeof OrderEffect)[keyof typeof OrderEffect];

export function effectOf(order: Order, state: JobState): OrderEffect {
  const { state: phase } = state;
  switch (order.command) {
    case CommandName.pause:
      if (phase === JobPhase.running) return OrderEffect.acts;
      if (phase === JobPhase.pausing) return hurrying(order);
      return phase === JobPhase.paused ? OrderEffect.already : OrderEffect.refused;
    case CommandName.resume:
      if (needsPerson(jobVerdictOf(state))) return OrderEffect.acts;
      return phase === JobPhase.running && !isRaise(order.raise) ? OrderEffect.already : OrderEffect.refused;
    case CommandName.cancel:
      if (phase === JobPhase.cancelled) return OrderEffect.already;
      if (phase === JobPhase.cancelling) return hurrying(order);
      return phase === JobPhase.requested || isOver(jobVerdictOf(state)) ? OrderEffect.refused : OrderEffect.acts;
    case CommandName.kill:
      if (KILLABLE.has(phase)) return OrderEffect.acts;
      return phase === JobPhase.paused ? OrderEffect.already : OrderEffect.refused;
    case CommandName.release:
      return isHeldForAudit(state) ? OrderEffect.acts : OrderEffect.refused;
    default:
      return assertNever(order.command);
  }
}

/** What is being cancelled stays so, and is no longer waited for. */
const KILLABLE: ReadonlySet<string> = new Set([JobPhase.running, JobPhase.pausing, JobPhase.cancelling]);

/** A deadline that was set before can be brought forward. */
function hurrying({ force, deadlineMs }: Order): OrderEffect {
  return force === true || deadlineMs !== undefined ? OrderEffect.acts : OrderEffect.already;
}

/** Whether the job came to where the order wanted it. */
export function isFollowed({ command }: Order, state: JobState): boolean {
  switch (command) {
    case CommandName.pause:
      return state.state === JobPhase.paused;
    case CommandName.kill:
      return state.state === JobPhase.paused || state.state === JobPhase.cancelled;
    case CommandName.cancel:
      return state.state === JobPhase.cancelled;
    case CommandName.resume:
      return !needsPerson(jobVerdictOf(state));
    case CommandName.release:
      return !isHeldForAudit(state);
    default:
      return assertNever(command);
  }
}

/** A command carries a whole budget, so what is not raised is said again. */
export function commandOf(order: Order, state: JobState | undefined, commandId: string): JobCommand {
  const { deadLettersMax, ...raised } = order.raise ?? {};
  const { reason, actor, jobId, command } = order;
  return {
    formatVersion: 1,
    commandId,
    jobId,
    command,
    reason,
    actor,
    force: order.force ?? false,
    deadlineMs: BigInt(Math.ceil(order.deadlineMs ?? 0)),
    budget: state !== undefined && isRaise(raised) ? { ...budgetOf(state), ...raised } : null,
    deadLettersMax: deadLettersMax ?? -1n,
  };
}

function isRaise(raise: Raise | undefined): boolean {
  return raise !== undefined && Object.keys(raise).length > 0;
}
