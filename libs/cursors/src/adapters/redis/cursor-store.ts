/** The cursor store in Redis: every method is one script, and every script touches the keys of one job only. */
import {
  fromFixedWidth,
  RANGES_PER_JOB_MAX,
  rangeIdOf,
  rangeOfId,
  TidemarkError,
  toFixedWidth,
} from '@tidemark/keyspace';
import { boundedLimit, boundedNote, checkAdvance, checkDelay, checkSettle, checkTtl } from '../../calls.ts';
import { jobKeys } from '../../keys.ts';
import { CANDIDATES_MAX, SNAPSHOT_ATTEMPTS_MAX } from '../../limits.ts';
import { type CallId, type Candidate, type CursorStore, JobMode, type RangeCall } from '../../ports.ts';
import { Expected, readAnswer } from './answers.ts';
import type { RedisConnection } from './connection.ts';
import { installJob, listRanges, removeJob, texts } from './install.ts';
import { readParked, readRange, writeCounters, writeLost, writeParkings, writePassed } from './range-text.ts';
import { type Script, scripts } from './scripts.ts';
import { connectServing, type RedisOptions, readIncarnation } from './serving-node.ts';

/** Connects, and refuses a Redis that may evict keys. Throws TidemarkError `unavailable` or `config`. */
export async function createRedisCursorStore(options: RedisOptions): Promise<CursorStore> {
  return storeOn(await connectServing(options), options.namespace);
}

function storeOn(connection: RedisConnection, namespace: string): CursorStore {
  const keysOf = (jobId: string) => jobKeys(namespace, jobId);

  const onRange = (
    script: Script,
    request: { readonly call: CallId; readonly jobId: string; readonly range: RangeCall['range'] },
    ...args: readonly string[]
  ): Promise<unknown> => {
    const keys = keysOf(request.jobId);
    const rangeId = rangeIdOf(request.range);
    return connection.run(
      script,
      [keys.job, keys.ranges, keys.ready, keys.range(rangeId)],
      [rangeId, request.call.slot, request.call.sequence.toString(), ...args],
    );
  };

  return {
    async lease(request) {
      checkTtl(request.leaseTtlMs);
      return readAnswer(await onRange(scripts.lease, request, String(request.leaseTtlMs)), Expected.lease);
    },
    async renew(request) {
      checkTtl(request.leaseTtlMs);
      const args = [request.token, String(request.leaseTtlMs), boundedNote(request.note)];
      return readAnswer(await onRange(scripts.renew, request, ...args), Expected.renew);
    },
    async claim(request) {
      const args = [request.token, toFixedWidth(request.upTo)];
      return readAnswer(await onRange(scripts.claim, request, ...args), Expected.claim);
    },
    async advance(request) {
      checkAdvance(request);
      const answer = await onRange(
        scripts.advance,
        request,
        request.token,
        toFixedWidth(request.from),
        toFixedWidth(request.to),
        String(request.leaseTtlMs),
        ...writeCounters(request.add),
        ...writePassed(request.passed),
        ...writeParkings(request.park),
      );
      return readAnswer(answer, Expected.advance);
    },
    async settle(request) {
      checkSettle(request);
      const answer = await onRange(
        scripts.settle,
        request,
        request.token,
        String(request.leaseTtlMs),
        ...writeCounters(request.add),
        String(request.settled.length),
        ...request.settled.map(toFixedWidth),
        ...writePassed(request.passed),
        ...writeParkings(request.again),
      );
      return readAnswer(answer, Expected.settle);
    },
    async parked({ jobId, range }) {
      const keys = keysOf(jobId);
      const answer = texts(await connection.run(scripts.parked, [keys.job, keys.range(rangeIdOf(range))], []));
      const [now, ...records] = answer;
      if (now === 'incomplete') return undefined;
      return readParked(records).map(({ dueAtMs, ...record }) => ({ ...record, dueInMs: dueAtMs - Number(now) }));
    },
    async release(request) {
      checkDelay(request.delayMs);
      const args = [request.token, String(request.delayMs), boundedNote(request.note), request.untouched ? '1' : '0'];
      return readAnswer(await onRange(scripts.release, request, ...args), Expected.release);
    },
    async stop(request) {
      const args = [request.token, boundedNote(request.note), writeLost(request.lost)];
      return readAnswer(await onRange(scripts.stop, request, ...args), Expected.stop);
    },

    async candidates({ jobId, limit }) {
      const keys = keysOf(jobId);
      const bounded = String(boundedLimit(limit, CANDIDATES_MAX));
      const answer = texts(await connection.run(scripts.candidates, [keys.job, keys.ready], [bounded]));
      const candidates: Candidate[] = [];
      for (let i = 0; i < answer.length; i += 2)
        candidates.push({ range: rangeOfId(answer[i] ?? ''), readyAtMs: Number(answer[i + 1]) });
      return candidates;
    },

    async install(job) {
      return installJob(connection, keysOf(job.jobId), job);
    },
    async split({ jobId, range, at }) {
      const keys = keysOf(jobId);
      const parentId = rangeIdOf(range);
      const childId = rangeIdOf({ partition: range.partition, start: at });
      const answer = await connection.run(
        scripts.split,
        [keys.job, keys.ranges, keys.ready, keys.range(parentId), keys.range(childId)],
        [parentId, '', '', childId, toFixedWidth(at), String(RANGES_PER_JOB_MAX)],
      );
      return readAnswer(answer, Expected.split);
    },
    async setMode({ jobId, mode }) {
      await connection.run(scripts.setMode, [keysOf(jobId).job], [mode]);
    },
    async snapshot(jobId) {
      return readSnapshot(connection, keysOf(jobId));
    },
    async remove({ jobId, epoch }) {
      await removeJob(connection, keysOf(jobId), epoch);
    },

    incarnation: () => readIncarnation(connection),
    async close() {
      connection.close();
    },
  };
}

/** The keys of a script must be known before it runs, so the list is read first and compared inside. */
async function readSnapshot(
  connection: RedisConnection,
  keys: ReturnType<typeof jobKeys>,
): ReturnType<CursorStore['snapshot']> {
  for (let attempt = 0; attempt < SNAPSHOT_ATTEMPTS_MAX; attempt += 1) {
    const rangeIds = await listRanges(connection, keys);
    const rangeKeys = rangeIds.map((rangeId) => keys.range(rangeId));
    const answer = await connection.run(scripts.snapshot, [keys.job, keys.ranges, keys.ready, ...rangeKeys], rangeIds);
    const [word, epoch, mode, ...ranges] = Array.isArray(answer) ? (answer as readonly unknown[]) : [];
    if (word === 'incomplete') return undefined;
    if (word === 'complete')
      return {
        epoch: fromFixedWidth(String(epoch)),
        mode: readMode(mode),
        ranges: ranges.map((entry) => readRange(texts(entry))),
      };
  }
  throw new TidemarkError({
    code: 'SNAPSHOT_UNSTABLE',
    class: 'transient',
    message: `The ranges under ${keys.ranges} changed ${SNAPSHOT_ATTEMPTS_MAX} times while a snapshot was taken: try again.`,
  });
}

/** A mode that this version does not know lets nothing happen. */
function readMode(text: unknown): JobMode {
  return Object.values(JobMode).find((mode) => mode === text) ?? JobMode.halted;
}
