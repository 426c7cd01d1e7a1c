/** What a record of the jobs topic does to the jobs. Each one is applied in one transaction with the position behind it. */
import type { JobRequested } from '@tidemark/contracts';
import { type CommandPlace, type InboxRecord, isForAll, requestFaults, runNumberOf, transition } from '@tidemark/jobs';
import { assertNever, toOffset } from '@tidemark/keyspace';
import { timeOf } from './changes.ts';
import { applyCommand, killAll } from './commands.ts';
import { createJob } from './create-job.ts';
import { notePoison, putAside } from './dead-requests.ts';
import { pinInTurn } from './pin-turn.ts';
import { applySeriesOrder } from './series-orders.ts';
import { commit, type Shard } from './shard.ts';

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
        await notingPoison(shard, place, () => killAll(shard, content.command, { place, isAhead: false }));
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
      return notingPoison(shard, place, () =>
        applySeriesOrder(shard, content.order, record, () => passBy(shard, place)),
      );
    default:
      return assertNever(content);
  }
}

/**
 * Orders to jobs that run, and to let go what is held for an audit, do not wait for a request that waits. The position stays, so they are read again: then they are
 * known, in this session by their offset and in the next one by the state of the job.
 */
export async function applyCommandsAhead(shard: Shard, records: readonly InboxRecord[]): Promise<void> {
  for (const record of records) {
    const { content, place } = record;
    if (content.kind !== 'command' || shard.appliedAhead.has(place.offset)) continue;
    if (isForAll(content.command)) {
      // Again in its turn, for the jobs whose requests come before it; those that are killed now know it by then.
      await notingPoison(shard, place, () => killAll(shard, content.command, { place, isAhead: true }));
      continue;
    }
    const { jobId } = content.command;
    if (shard.parts.poison.has(place.offset)) continue;
    if (shard.book.live(jobId) === undefined && !shard.book.isHeldForAudit(jobId)) continue;
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
  if (faults.length > 0) return Promise.resolve({ kind: 'refused', reason: `INVALID_REQUEST: ${faults.join('; ')}` });
  const series = seriesOfRun(shard, request.jobId);
  if (series === undefined) return pinInTurn(shard, request, place);
  const reason = `ID_OF_A_RUN: ${request.jobId} was a run of series ${series}, whose state may have been removed since; submit the job under another id`;
  return Promise.resolve({ kind: 'refused', reason });
}

/** Of runs only the newest are remembered, but what was done under the id of another one must not be done again. */
function seriesOfRun({ series }: Shard, jobId: string): string | undefined {
  const state = series.state(jobId.slice(0, Math.max(0, jobId.lastIndexOf('-'))));
  const number = state === undefined ? undefined : runNumberOf(state.series, jobId);
  return state !== undefined && number !== undefined && number <= state.runs ? state.series : undefined;
}
