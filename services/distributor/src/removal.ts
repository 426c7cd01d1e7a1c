/**
 * Forgets jobs that ended long ago, a bounded batch a round: first what a crash or an older store may have left of them (keys,
 * floors), then their states and checkpoints, in one fenced transaction with the position. Before it nothing happened but what
 * an end does anyhow, after it nothing is left to do; so it may be repeated, and a crash anywhere does no harm.
 */
import type { JobState } from '@tidemark/contracts';
import { deadLetterTopic, isDeadLetterTopic, isTerminal, JobPhase, jobTopics, journal } from '@tidemark/jobs';
import { isOutage, monotonicNowMs, TidemarkError } from '@tidemark/keyspace';
import { timeOf } from './changes.ts';
import { eachOf } from './in-slices.ts';
import { LETTER_CLOCKS_DIFFER_MS, REMOVED_AT_ONCE, REMOVED_RANGES_AT_ONCE, TOPICS_ASKED_AT_ONCE } from './limits.ts';
import { planRemoval, type Removable, type RequestsRead } from './removal-plan.ts';
import { commit, ensureProven, onSchedule, type Shard } from './shard.ts';
import { close, forget } from './store-filling.ts';

export async function removeEnded(shard: Shard): Promise<void> {
  const { removal, parts } = shard;
  const { lookedAtMs } = removal;
  if (lookedAtMs !== undefined && monotonicNowMs() - lookedAtMs < parts.removalEveryMs) return;
  removal.lookedAtMs = monotonicNowMs();
  try {
    await forgetListed(shard);
    const batch = await nextBatch(shard);
    if (batch.length > 0) await remove(shard, batch);
  } catch (error) {
    // Whatever does not answer now is asked again at the next look; nothing waits for a removal.
    if (!isOutage(error) || !shard.journal.usable) throw error;
    parts.logger.debug({ error }, 'jobs.removal_put_off');
  }
}

/**
 * A store that came back older may list jobs that have ended since, or were removed, and workers would ask for them for ever.
 * What only a newer distributor understands is left to that.
 */
async function forgetListed(shard: Shard): Promise<void> {
  const { book, parts } = shard;
  const listed = await onSchedule(shard, (schedule) => schedule.listed());
  const over = listed.filter((jobId) => isTerminal(book.state(jobId)?.state ?? JobPhase.completed));
  if (over.length === 0) return;
  // From before the list was read no proof tells anything: what is unknown here may be a job of a successor.
  await ensureProven(shard, 0);
  await eachOf(over, (jobId) => forget(shard, jobId));
  parts.logger.info({ jobs: over.length }, 'jobs.unlisted');
}

async function nextBatch(shard: Shard): Promise<readonly Removable[]> {
  const { removal, book, series, parts } = shard;
  const read = await requestsRead(shard);
  if (read === undefined) return [];
  removal.looks += 1;
  const states = [...book.states()];
  const plan = planRemoval({ states, series: series.all(), read, keeping: parts.keeping });
  const freed = await ofGoneTopics(shard, plan.witnesses);
  const going = await withoutLetters(shard, [...plan.removable, ...freed]);
  const batch: Removable[] = [];
  let ranges = 0;
  for (const each of going) {
    ranges += book.endedRanges(each.state.jobId).length;
    if (batch.length > 0 && (batch.length >= REMOVED_AT_ONCE || ranges > REMOVED_RANGES_AT_ONCE)) break;
    batch.push(each);
  }
  if (batch.length < going.length) removal.lookedAtMs = undefined;
  return batch;
}

async function remove(shard: Shard, batch: readonly Removable[]): Promise<void> {
  const { parts, book, removal } = shard;
  await parts.onStep('removal.planned');
  // An id may be in use again by now for whoever was replaced: it must not take the keys and floors of that job away.
  await ensureProven(shard, 0);
  await eachOf(batch, ({ state }) => close(shard, state.jobId));
  await parts.onStep('removal.cleared');
  if (batch.some(({ isRun }) => !isRun)) removal.hasFreedIds = true;
  const time = timeOf(shard);
  await commit(shard, {
    atMs: Number(time.atMs),
    removals: batch.map(({ state: { jobId } }) => ({ jobId, ranges: book.endedRanges(jobId) })),
    events: batch.map(({ state, why }) => journal(state, 'JobRemoved', time, { reason: why })),
  });
  await parts.onStep('removal.committed');
  const runs = batch.filter(({ isRun }) => isRun).length;
  parts.logger.info({ jobs: batch.length - runs, runs }, 'jobs.removed');
}

/**
 * *Race:* a request that is sent again waits unread while no distributor runs, or behind one that waits for its topic; its job has
 * been over for the whole horizon by now. Would the job be forgotten before that is read, it would run again. So the horizon
 * is counted up to the last instant of which everything that was written before it is known to be decided.
 */
async function requestsRead(shard: Shard): Promise<RequestsRead | undefined> {
  const { removal, book, parts } = shard;
  const { asked } = removal;
  const throughMs = parts.nowMs();
  const { catalog } = parts.cluster;
  const topic = await catalog.describe(jobTopics(parts.namespace).jobs);
  const offsets = topic && (await catalog.offsets(topic))[0];
  if (offsets === undefined) return undefined;
  const { highWatermark: end, logStartOffset: logStart } = offsets;
  const isPassed = asked === undefined || book.nextOffset >= asked.end;
  // Under a steady stream of requests the position never is at an end that was asked just now, but soon at one from before.
  if (isPassed) removal.asked = { throughMs, logStart, end };
  if (book.nextOffset >= end) return { throughMs, logStart };
  return asked !== undefined && isPassed ? asked : undefined;
}

/** The first ones whose letters, if there are any, are gone: as long as there are some, a redrive may name their job. */
async function withoutLetters(shard: Shard, candidates: readonly Removable[]): Promise<readonly Removable[]> {
  const going: Removable[] = [];
  /** Whoever ended later has younger letters. */
  const held = new Set<string>();
  for (const each of candidates) {
    const { state } = each;
    if (going.length > REMOVED_AT_ONCE) break;
    if (hasLetters(state)) {
      const { topic } = state.request;
      if (!held.has(topic) && (await mayHoldLetters(shard, state))) held.add(topic);
      if (held.has(topic)) continue;
    }
    going.push(each);
  }
  return going;
}

function hasLetters({ totals }: JobState): boolean {
  return totals !== null && totals.deadLettered > 0n;
}

/** Whether something is left of the dead-letter topic from before the job ended. */
async function mayHoldLetters(shard: Shard, state: JobState): Promise<boolean> {
  return (await ofUsers(shard, () => lettersFrom(shard, state))) ?? true;
}

async function lettersFrom({ parts }: Shard, { request: { topic }, updatedAtMs }: JobState): Promise<boolean> {
  const { catalog } = parts.cluster;
  // Letters of a redrive go beside the former ones.
  const names = isDeadLetterTopic(topic) ? [topic, deadLetterTopic(topic)] : [deadLetterTopic(topic)];
  for (const name of names) {
    const letters = await catalog.describe(name);
    if (letters === undefined) continue;
    const younger = await catalog.offsetsAt(letters, updatedAtMs + LETTER_CLOCKS_DIFFER_MS);
    for (const { partition, logStartOffset, highWatermark } of await catalog.offsets(letters))
      if (logStartOffset < (younger[partition] ?? highWatermark)) return true;
  }
  return false;
}

/** Those whose topic was deleted, or created again: nobody asks who has read the former one. */
async function ofGoneTopics(shard: Shard, witnesses: readonly Removable[]): Promise<readonly Removable[]> {
  const { parts, removal } = shard;
  const names = [...new Set(witnesses.map(({ state }) => state.request.topic))];
  // All of them have their turn.
  const first = (removal.looks * TOPICS_ASKED_AT_ONCE) % Math.max(names.length, 1);
  const found = new Map<string, { readonly topicId: string | undefined }>();
  await eachOf(names.slice(first, first + TOPICS_ASKED_AT_ONCE), async (topic) => {
    const answer = await ofUsers(shard, async () => ({
      topicId: (await parts.cluster.catalog.describe(topic))?.topicId,
    }));
    if (answer !== undefined) found.set(topic, answer);
  });
  return witnesses.filter(({ state: { request, pin } }) => {
    const now = found.get(request.topic);
    return now !== undefined && now.topicId !== pin?.topicId;
  });
}

/** A topic of users may be forbidden, or replaced while it is asked for: then nothing is known, and that is no reason to stop. */
async function ofUsers<T>({ parts }: Shard, ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    parts.logger.debug({ error }, 'jobs.topic_unknown');
    return undefined;
  }
}
