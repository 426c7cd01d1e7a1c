/** What a record of the jobs topic does to the jobs. Each one is applied in one transaction with the position behind it. */
import type { JobRequested } from '@tidemark/contracts';
import {
  type CommandPlace,
  type InboxRecord,
  isForAll,
  outcomeOf,
  planRanges,
  requestFaults,
  type TransitionTime,
  transition,
  windowsOf,
} from '@tidemark/jobs';
import { assertNever, RANGES_PER_JOB_MAX, toOffset } from '@tidemark/keyspace';
import { move, timeOf } from './changes.ts';
import { applyCommand, killAll } from './commands.ts';
import { notePoison, putAside } from './dead-requests.ts';
import { accept } from './floors.ts';
import type { PinAnswer } from './pin.ts';
import { pinInTurn } from './pin-turn.ts';
import { firstCheckpoint } from './ranges.ts';
import { commit, enlist, type JobChange, type Shard } from './shard.ts';
import { installNew } from './store-filling.ts';

/** `waits`: nobody can say yet what becomes of the request; the position stays before it. */
type Applied = 'applied' | 'waits';

export async function applyRecord(shard: Shard, record: InboxRecord): Promise<Applied> {
  const { content, place } = record;
  const poisoned = shard.parts.poison.get(place.offset);
  if (poisoned !== undefined) {
    passBy(shard, place);
    // A dead letter that is refused as well is written without its value: where it came from is in the headers.
    const raw = poisoned.failures > 1 ? { ...record.raw, value: null } : record.raw;
    await putAside(shard, { ...record, raw }, 'NOT_STORABLE', poisoned.reason);
    return 'applied';
  }
  switch (content.kind) {
    case 'malformed':
      passBy(shard, place);
      await putAside(shard, record, content.code, content.reason);
      return 'applied';
    case 'request':
      return notingPoison(shard, place, () => applyRequest(shard, content.request, place));
    case 'command':
      if (isForAll(content.command)) {
        await notingPoison(shard, place, () => killAll(shard, content.command, place));
        passBy(shard, place);
        return 'applied';
      }
      if (shard.appliedAhead.delete(place.offset)) passBy(shard, place);
      else
        await notingPoison(shard, place, () =>
          applyCommand(shard, content.command, record, () => passBy(shard, place)),
        );
      return 'applied';
    case 'series':
      passBy(shard, place);
      await putAside(shard, record, 'UNKNOWN_ORDER', 'this distributor knows no series');
      return 'applied';
    default:
      return assertNever(content);
  }
}

/**
 * Orders to jobs that run do not wait for a request that waits. The position stays, so they are read again: then they are
 * known, in this session by their offset and in the next one by the state of the job.
 */
export async function applyCommandsAhead(shard: Shard, records: readonly InboxRecord[]): Promise<void> {
  for (const record of records) {
    const { content, place } = record;
    if (content.kind !== 'command' || shard.appliedAhead.has(place.offset)) continue;
    if (isForAll(content.command)) {
      // Again in its turn, for the jobs whose requests come before it; those that are killed now know it by then.
      await notingPoison(shard, place, () => killAll(shard, content.command, place));
      continue;
    }
    if (shard.parts.poison.has(place.offset) || shard.book.live(content.command.jobId) === undefined) continue;
    await notingPoison(shard, place, () => applyCommand(shard, content.command, record, () => undefined));
    shard.appliedAhead.add(place.offset);
  }
}

async function notingPoison<T>(shard: Shard, place: CommandPlace, apply: () => Promise<T>): Promise<T> {
  try {
    return await apply();
  } catch (error) {
    notePoison(shard, place, error);
    throw error;
  }
}

/**
 * From here on every transaction moves the position past the record, so only its own may follow. *Race:* a pin that fills
 * floors proves its session first; would that commit move the position, a crash before the pin is durable lost the request.
 */
function passBy(shard: Shard, place: CommandPlace): void {
  shard.book.nextOffset = toOffset(place.offset + 1n);
}

async function applyRequest(shard: Shard, request: JobRequested, place: CommandPlace): Promise<Applied> {
  const { parts, book } = shard;
  const { jobId } = request;
  const time = timeOf(shard);
  const answer = transition(book.state(jobId), { kind: 'requested', request, place }, time);
  if (answer.kind === 'moved') {
    const requested = { state: answer.state, moved: true, events: answer.events, checkpoints: [] };
    const pin = await pinIfValid(shard, request, place);
    if (pin.kind === 'waits') return 'waits';
    passBy(shard, place);
    await createJob(shard, requested, pin);
    return 'applied';
  }
  passBy(shard, place);
  switch (answer.kind) {
    case 'same':
      // Nothing to write: the position moves with the next transaction, and reading this again changes nothing either.
      parts.logger.info({ jobId, state: answer.state.state }, 'job.requested_again');
      return 'applied';
    case 'refused':
      await commit(shard, { atMs: Number(time.atMs), events: answer.events });
      parts.logger.warn({ jobId, reason: answer.reason }, 'job.duplicate_refused');
      return 'applied';
    default:
      return assertNever(answer);
  }
}

function pinIfValid(shard: Shard, request: JobRequested, place: CommandPlace): ReturnType<typeof pinInTurn> {
  const faults = requestFaults(request);
  if (faults.length === 0) return pinInTurn(shard, request, place);
  return Promise.resolve({ kind: 'refused', reason: `INVALID_REQUEST: ${faults.join('; ')}` });
}

async function createJob(shard: Shard, requested: JobChange, pin: PinAnswer): Promise<void> {
  const { parts } = shard;
  const { request, jobId } = requested.state;
  // One instant for the whole transaction, taken after the high watermark was read: nothing acknowledged later is in.
  const time = timeOf(shard);
  if (pin.kind === 'refused') return refuse(shard, requested, pin.reason, time);

  const windows = windowsOf(pin.pin);
  const ranges = planRanges(windows, request);
  if (ranges.length > RANGES_PER_JOB_MAX) {
    const reason = `TOO_MANY_RANGES: ${request.rangesPerPartition} ranges a partition are ${ranges.length} in all, a job may have ${RANGES_PER_JOB_MAX}; ask for fewer, or for 0 to let the spans decide`;
    return refuse(shard, requested, reason, time);
  }
  const pinned = move(requested, { kind: 'pinned', pin: pin.pin }, time);
  const checkpoints = ranges.map((range) => firstCheckpoint(jobId, range, time.atMs));
  // A job that needs nothing needs no floor: it is accepted and complete at once.
  const change =
    ranges.length === 0
      ? move(move(pinned, { kind: 'accepted' }, time), outcomeOf([]), time)
      : { ...pinned, checkpoints };
  await parts.onStep('job.before-commit');
  await commit(shard, { atMs: Number(time.atMs), changes: [change] });
  await parts.onStep('job.committed');
  const { state, reason } = change.state;
  parts.logger.info({ jobId, topic: request.topic, state, reason, ranges: ranges.length }, 'job.pinned');

  const durable = shard.book.live(jobId);
  const job = durable === undefined ? undefined : await accept(shard, durable);
  if (job === undefined) return;
  await parts.onStep('job.accepted');
  await installNew(shard, job);
  await parts.onStep('job.installed');
  await enlist(shard, job);
  await parts.onStep('job.enlisted');
}

async function refuse(shard: Shard, requested: JobChange, reason: string, time: TransitionTime): Promise<void> {
  const change = move(requested, { kind: 'refused', reason }, time);
  await commit(shard, { atMs: Number(time.atMs), changes: [change] });
  shard.parts.logger.warn({ jobId: change.state.jobId, reason }, 'job.refused');
}
