/**
 * Orders to jobs that exist. What an order changes is durable before the store hears of it, but for `kill`: there the store
 * is halted first. *Race:* we die in between; the successor finds a RUNNING job that is halted and lets it go on, until it
 * reads the command, which no transaction has passed.
 */
import type { JobCommand, JobState } from '@tidemark/contracts';
import {
  budgetFaults,
  CommandName,
  type CommandPlace,
  type InboxRecord,
  type JobOrder,
  JobPhase,
  journal,
  moveSeries,
  type SeriesAnswer,
  type TransitionAnswer,
  type TransitionTime,
  transition,
  usedUp,
} from '@tidemark/jobs';
import { sumCounters } from '@tidemark/keyspace';
import { dropHold } from './audit-holds.ts';
import { timeOf } from './changes.ts';
import { putAside } from './dead-requests.ts';
import { eachOf } from './in-slices.ts';
import type { LiveJob } from './job-book.ts';
import { KILLED_AT_ONCE } from './limits.ts';
import { commitSeries } from './series-orders.ts';
import { commit, type JobChange, type Shard, withdraw } from './shard.ts';
import { drain, halt, lastLook } from './stopping.ts';
import { bringUp } from './store-filling.ts';

/** `pass` lets the next transaction move the position past the command: the one that makes it durable, and none before. */
export async function applyCommand(
  shard: Shard,
  command: JobCommand,
  record: InboxRecord,
  pass: () => void,
): Promise<void> {
  const time = timeOf(shard);
  const order = orderOf(shard, command, record.place, time);
  if (order === undefined) {
    const reason = `${JSON.stringify(command.command.slice(0, 100))} is no command`;
    pass();
    return putAside(shard, record, 'UNKNOWN_COMMAND', reason);
  }
  const job = shard.book.live(command.jobId);
  const state = job?.state ?? shard.book.state(command.jobId);
  if (state === undefined || isApplied(state, record.place)) {
    pass();
    return state === undefined ? logIgnored(shard, command, 'no such job') : undefined;
  }
  const answer = job === undefined ? transition(state, order, time) : decide(job, order, time);
  if (answer.kind === 'moved' && order.kind === 'released') return releaseHold(shard, { order, answer, time }, pass);
  if (answer.kind === 'moved' && job !== undefined) return act(shard, { job, order, answer, time }, pass);
  pass();
  if (answer.kind === 'refused') return tell(shard, command, { state, reason: answer.reason, time });
  logIgnored(shard, command, 'this command was applied before');
}

/**
 * All jobs are halted first, which is what somebody in need of it waits for; then the series are stopped, so that none begins
 * another run. The position passes the command only when all of them are durable; read again, it finds its id and its place in those
 * that were.
 */
export async function killAll(
  shard: Shard,
  command: JobCommand,
  { place, isAhead }: { readonly place: CommandPlace; readonly isAhead: boolean },
): Promise<void> {
  const time = timeOf(shard);
  const killed: Move[] = [];
  for (const job of shard.book.active()) {
    if (isApplied(job.state, place)) continue;
    const order = orderOf(shard, { ...command, jobId: job.jobId }, place, time);
    const answer = order === undefined ? undefined : transition(job.state, order, time);
    if (order !== undefined && answer?.kind === 'moved') killed.push({ job, order, answer, time });
  }
  await eachOf(killed, ({ job }) => halt(shard, job.jobId));
  if (killed.length > 0) await shard.parts.onStep('kill.halted');
  const stopped = await stopAllSeries(shard, { command, isAhead, time });
  const cancelling = killed.filter(({ order }) => order.kind === 'cancelling');
  const paused = killed.filter(({ order }) => order.kind !== 'cancelling');
  for (let first = 0; first < paused.length; first += KILLED_AT_ONCE)
    await commitKilled(shard, paused.slice(first, first + KILLED_AT_ONCE), () => undefined);
  for (const move of cancelling) await act(shard, move, () => undefined);
  const { reason, actor } = command;
  if (killed.length + stopped > 0)
    shard.parts.logger.warn({ jobs: killed.length, series: stopped, reason, actor }, 'jobs.killed');
}

/** How many went on until now. Those that were stopped before only hear that it was their turn. */
async function stopAllSeries(
  shard: Shard,
  order: { readonly command: JobCommand; readonly isAhead: boolean; readonly time: TransitionTime },
): Promise<number> {
  const { time, isAhead } = order;
  const { commandId, reason, actor } = order.command;
  const changes: Extract<SeriesAnswer, { kind: 'moved' }>[] = [];
  for (const state of shard.series.held()) {
    const answer = moveSeries(state, { kind: 'killed', isAhead, orderId: commandId, reason, actor }, time);
    if (answer.kind === 'moved') changes.push(answer);
  }
  for (let first = 0; first < changes.length; first += KILLED_AT_ONCE)
    await commitSeries(shard, changes.slice(first, first + KILLED_AT_ONCE), time);
  if (changes.length > 0) await shard.parts.onStep('kill.series-stopped');
  return changes.filter(({ events }) => events.length > 0).length;
}

interface Move {
  readonly job: LiveJob;
  readonly order: JobOrder;
  readonly answer: Extract<TransitionAnswer, { kind: 'moved' }>;
  readonly time: TransitionTime;
}

function orderOf(
  shard: Shard,
  command: JobCommand,
  place: CommandPlace,
  { atMs }: TransitionTime,
): JobOrder | undefined {
  const { commandId, reason, actor, force, deadlineMs } = command;
  const by = { commandId, reason, actor, place };
  const waitMs = deadlineMs > 0n ? deadlineMs : BigInt(shard.parts.drainDeadlineMs);
  const deadlineAtMs = force ? atMs : atMs + waitMs;
  switch (command.command) {
    case CommandName.pause:
      return { kind: 'pausing', deadlineAtMs, ...by };
    case CommandName.cancel:
      return { kind: 'cancelling', deadlineAtMs, ...by };
    case CommandName.resume:
      return { kind: 'resumed', budget: command.budget, deadLettersMax: command.deadLettersMax, ...by };
    case CommandName.release:
      return { kind: 'released', ...by };
    case CommandName.kill:
      // What is being cancelled shall not be waited for, and stays cancelled.
      return shard.book.state(command.jobId)?.state === JobPhase.cancelling
        ? { kind: 'cancelling', deadlineAtMs: atMs, ...by }
        : { kind: 'killed', ...by };
    default:
      return undefined;
  }
}

/** In a transaction whose position was written before this record was passed. */
function isApplied(
  { lastCommandPartition, lastCommandOffset }: JobState,
  { partition, offset }: CommandPlace,
): boolean {
  return partition === lastCommandPartition && offset <= lastCommandOffset;
}

/** A resume that would be followed by the same suspension at once is refused instead: whoever ordered it must raise something. */
function decide(job: LiveJob, order: JobOrder, time: TransitionTime): TransitionAnswer {
  const answer = transition(job.state, order, time);
  if (answer.kind !== 'moved' || order.kind !== 'resumed') return answer;
  const faults = order.budget === null ? [] : budgetFaults(order.budget);
  if (faults.length > 0) return { kind: 'refused', reason: faults.join('; '), events: [] };
  const totals = sumCounters([...job.checkpoints.values()].map(({ counters }) => counters));
  const reason = usedUp(answer.state, totals, time.atMs);
  if (reason === undefined) return answer;
  return { kind: 'refused', reason: `job ${job.jobId} has used up ${reason}; resume it with more`, events: [] };
}

async function act(shard: Shard, { job, order, answer, time }: Move, pass: () => void): Promise<void> {
  const { jobId } = job;
  const { logger, onStep } = shard.parts;
  const { reason, actor } = order;
  if (order.kind === 'killed') {
    await halt(shard, jobId);
    await onStep('kill.halted');
    return commitKilled(shard, [{ job, order, answer, time }], pass);
  }
  pass();
  await commit(shard, { atMs: Number(time.atMs), changes: [{ ...answer, moved: true, checkpoints: [] }] });
  logger.info({ jobId, reason, actor }, `job.${order.kind}`);
  const changed = shard.book.live(jobId);
  if (changed === undefined) return;
  if (order.kind !== 'resumed') return drain(shard, changed);
  await onStep('resume.committed');
  await bringUp(shard, changed);
}

/** Of a job in whatever state it is; its ranges, and what they need, stay as they are. */
async function releaseHold(shard: Shard, { order, answer, time }: Omit<Move, 'job'>, pass: () => void): Promise<void> {
  const { jobId } = answer.state;
  const { reason, actor } = order;
  pass();
  await commit(shard, { atMs: Number(time.atMs), changes: [{ ...answer, moved: true, checkpoints: [] }] });
  await shard.parts.onStep('hold.committed');
  await dropHold(shard, answer.state);
  shard.parts.logger.info({ jobId, reason, actor }, 'job.hold_released');
}

/** They are halted in the store; what they settled until then is durable with their state. */
async function commitKilled(shard: Shard, moves: readonly Move[], pass: () => void): Promise<void> {
  const changes: JobChange[] = [];
  await eachOf(moves, async ({ job, answer }) => {
    const { checkpoints } = await lastLook(shard, job);
    changes.push({ ...answer, moved: true, checkpoints });
  });
  const [first] = moves;
  if (first === undefined) return;
  pass();
  await commit(shard, { atMs: Number(first.time.atMs), changes });
  await shard.parts.onStep('pause.committed');
  await eachOf(moves, async ({ job: { jobId }, order: { reason, actor } }) => {
    await withdraw(shard, jobId);
    shard.parts.logger.info({ jobId, reason, actor }, 'job.killed');
  });
}

/** Whoever ordered it cannot be answered; the audit trail tells. */
async function tell(
  shard: Shard,
  command: JobCommand,
  refusal: { readonly state: JobState; readonly reason: string; readonly time: TransitionTime },
): Promise<void> {
  const { state, time } = refusal;
  const reason = `${command.command} ${command.commandId}: ${refusal.reason}`;
  const event = journal(state, 'JobCommandRefused', { ...time, actor: command.actor }, { reason });
  await commit(shard, { atMs: Number(time.atMs), events: [event] });
  logIgnored(shard, command, refusal.reason);
}

function logIgnored(shard: Shard, command: JobCommand, why: string): void {
  const { jobId, commandId, actor } = command;
  shard.parts.logger.warn({ jobId, commandId, command: command.command, actor, why }, 'command.ignored');
}
