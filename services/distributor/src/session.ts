/**
 * What one session does, in turn: a round of checkpoints when it is due, else the next records of the jobs topic. Nothing
 * that concerns one request may hold up the rounds: they come between records, and what cannot be answered yet is tried
 * again at a later look.
 */

import type { InboxAnswer, InboxRecord } from '@tidemark/jobs';
import { ErrorClass, monotonicNowMs, type Offset, offsetMax, sleep, TidemarkError } from '@tidemark/keyspace';
import { endHolds } from './audit-holds.ts';
import { checkpointAll } from './checkpoints.ts';
import { INBOX_WAIT_MS_MAX } from './limits.ts';
import { removeEnded } from './removal.ts';
import { applyCommandsAhead, applyRecord } from './requests.ts';
import { tendSeries } from './series-runs.ts';
import type { Shard } from './shard.ts';
import { createTries, type Tries } from './tries.ts';

/** Resolves when the signal of the shard is aborted. `onProgress` is called after every round. */
export async function runSession(shard: Shard, onProgress: () => void): Promise<void> {
  const { parts, signal, book } = shard;
  const rounds = createRounds(shard, onProgress);
  const { logger } = parts;
  const tries = createTries({
    onDown: (error) => logger.warn({ dependency: 'requests', error }, 'dependency.down'),
    onBack: (downMs) => logger.info({ dependency: 'requests', downMs }, 'dependency.back'),
  });
  while (!signal.aborted) {
    await rounds.makeDue();
    const restMs = Math.max(tries.dueInMs(), shard.waiting?.tries.dueInMs() ?? 0);
    if (restMs > 0) await sleep(waitMs(Math.min(restMs, rounds.dueInMs())), signal);
    if (tries.dueInMs() > 0) continue;
    const answer = await look(shard, tries, rounds.dueInMs());
    if (answer?.kind === 'lost') {
      logger.error({ first: answer.first, last: answer.last }, 'requests.lost');
      book.nextOffset = answer.nextOffset;
    } else if (answer !== undefined && (await applyAll(shard, answer.records, rounds))) {
      book.nextOffset = answer.nextOffset;
    } else if (answer !== undefined) {
      await lookFurther(shard, answer.nextOffset, rounds);
    }
  }
}

/** A command must not wait behind a request because more records lie between them than one look brings. */
async function lookFurther(shard: Shard, from: Offset, rounds: Rounds): Promise<void> {
  const { inbox, signal, waiting } = shard;
  if (waiting === undefined) return;
  for (let next = offsetMax(from, waiting.seenTo ?? from); !signal.aborted; waiting.seenTo = next) {
    await rounds.makeDue();
    const answer = await inbox.next({ from: next, waitMs: 0, signal }).catch(unlessUnavailable);
    if (answer?.kind !== 'records' || answer.nextOffset === next) return;
    await applyCommandsAhead(shard, answer.records);
    next = answer.nextOffset;
  }
}

/** The next look meets it again, and says so. */
function unlessUnavailable(error: unknown): undefined {
  if (!isUnavailable(error)) throw error;
}

function isUnavailable(error: unknown): boolean {
  return error instanceof TidemarkError && error.class === ErrorClass.unavailable;
}

/** Once: while the registry is away a record cannot be read yet, but the jobs that run go on. */
async function look(shard: Shard, tries: Tries, dueInMs: number): Promise<InboxAnswer | undefined> {
  const { inbox, book, signal } = shard;
  const tried = await tries.once(
    () => inbox.next({ from: book.nextOffset, waitMs: waitMs(dueInMs), signal }),
    isUnavailable,
  );
  return tried.kind === 'answered' ? tried.answer : undefined;
}

/** Whether all of them were applied. */
async function applyAll(shard: Shard, records: readonly InboxRecord[], rounds: Rounds): Promise<boolean> {
  for (const [index, record] of records.entries()) {
    await rounds.makeDue();
    if (shard.signal.aborted) return false;
    if ((await applyRecord(shard, record)) === 'waits') {
      await applyCommandsAhead(shard, records.slice(index + 1));
      return false;
    }
  }
  return true;
}

interface Rounds {
  dueInMs(): number;
  /** A burst of requests would otherwise stretch what a lost store costs. */
  makeDue(): Promise<void>;
}

function createRounds(shard: Shard, onProgress: () => void): Rounds {
  const { parts, book, signal } = shard;
  let dueAtMs = monotonicNowMs();
  const dueInMs = (): number => dueAtMs - monotonicNowMs();
  return {
    dueInMs,
    makeDue: async () => {
      if (signal.aborted || dueInMs() > 0) return;
      await checkpointAll(shard);
      await tendSeries(shard);
      await endHolds(shard);
      await removeEnded(shard);
      parts.progress.checkpointAtMs = monotonicNowMs();
      for (const [phase, count] of book.byState()) parts.metrics?.jobs.set(count, phase);
      onProgress();
      dueAtMs = monotonicNowMs() + parts.checkpointEveryMs;
    },
  };
}

function waitMs(wantedMs: number): number {
  return Math.ceil(Math.min(Math.max(wantedMs, 0), INBOX_WAIT_MS_MAX));
}
