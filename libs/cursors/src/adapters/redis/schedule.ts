/** The list of jobs and workers in Redis, and the wake-up channel. All of it is hints. */
import { boundedLimit, boundedNote, checkHurry, checkTtl, permitOf } from '../../calls.ts';
import { checkJobId, scheduleKeys } from '../../keys.ts';
import {
  LONGEST_WAITING_TURNS,
  PROPOSALS_MAX,
  RATE_CREDIT_US,
  WAITING_FORGOTTEN_AFTER_MS,
  WORKER_FORGOTTEN_AFTER_MS,
} from '../../limits.ts';
import { bookingCostUs, boundedWaitUs } from '../../rate.ts';
import { invertedPriority } from '../../schedule-order.ts';
import type { Schedule, WorkerAnnouncement } from '../../schedule-ports.ts';
import { texts } from './install.ts';
import { scripts } from './scripts.ts';
import { connectServing, type RedisOptions } from './serving-node.ts';

/** Throws TidemarkError `unavailable` or `config`. */
export async function createRedisSchedule(options: RedisOptions): Promise<Schedule> {
  const keys = scheduleKeys(options.namespace);
  const connection = await connectServing(options);
  const jobKeys = [keys.jobs, keys.places, keys.order, keys.served];
  const listeners = new Set<() => void>();
  let subscriber: ReturnType<typeof connection.subscriber> | undefined;
  let subscribed: Promise<unknown> | undefined;

  return {
    async propose({ limit }) {
      const bounded = String(boundedLimit(limit, PROPOSALS_MAX));
      const args = [bounded, String(LONGEST_WAITING_TURNS)];
      const answer = await connection.run(scripts.schedulePropose, [...jobKeys, keys.turn], args);
      const [listedCount, ...proposals] = texts(answer);
      return {
        jobs: inPairs(proposals).map(([jobId, definition]) => ({ jobId, definition })),
        listedCount: Number(listedCount),
      };
    },
    async permit({ jobId, slot, jobMax, allMax, ttlMs }) {
      checkTtl(ttlMs);
      const answer = await connection.run(
        scripts.schedulePermit,
        [keys.permits, keys.permitsOf(jobId), keys.waiting],
        [jobId, slot, permitOf({ jobId, slot }), String(jobMax), String(allMax), String(ttlMs)],
      );
      if (answer === 'granted') return { kind: 'granted' };
      return { kind: 'full', scope: answer === 'full-job' ? 'job' : 'all' };
    },
    async returnPermit({ jobId, slot }) {
      await connection.run(
        scripts.scheduleReturnPermit,
        [keys.permits, keys.permitsOf(jobId)],
        [slot, permitOf({ jobId, slot })],
      );
    },
    async bookRate({ bucket, perSecond, records, waitMsMax }) {
      const costUs = bookingCostUs({ perSecond, records });
      const waitUs = await connection.run(
        scripts.scheduleBookRate,
        [keys.rates],
        [bucket, String(costUs), String(boundedWaitUs(waitMsMax)), String(RATE_CREDIT_US)],
      );
      return { waitMs: Math.ceil(Number(waitUs) / 1_000) };
    },
    async noteWaiting({ jobId, reason }) {
      checkJobId(jobId);
      await connection.run(scripts.scheduleNoteWaiting, [keys.waiting], [jobId, boundedNote(reason)]);
    },
    async waiting() {
      const args = [String(WAITING_FORGOTTEN_AFTER_MS)];
      const answer = texts(await connection.run(scripts.scheduleWaiting, [keys.waiting], args));
      return new Map(
        inPairs(answer).map(([jobId, entry]) => {
          const { atMs, text } = readDated(entry);
          return [jobId, { reason: text, atMs }];
        }),
      );
    },
    async hurry({ jobIds, ttlMs }) {
      checkHurry({ jobIds, ttlMs });
      if (jobIds.length > 0) await connection.run(scripts.scheduleHurry, [keys.hurried], [String(ttlMs), ...jobIds]);
    },
    async hurried() {
      return new Set(texts(await connection.run(scripts.scheduleHurried, [keys.hurried], [])));
    },
    async enlist({ jobId, definition, priority }) {
      checkJobId(jobId);
      await connection.run(scripts.scheduleEnlist, jobKeys, [jobId, definition, invertedPriority(priority)]);
    },
    async withdraw(jobId) {
      const hints = [keys.permits, keys.permitsOf(jobId), keys.waiting, keys.hurried];
      await connection.run(scripts.scheduleWithdraw, [...jobKeys, ...hints], [jobId]);
    },
    async listed() {
      return texts(await connection.command('HKEYS', keys.jobs));
    },
    async announce(worker) {
      await connection.run(scripts.scheduleAnnounce, [keys.workers], [worker.workerId, JSON.stringify(worker)]);
    },
    async workers() {
      const [now, ...entries] = texts(
        await connection.run(scripts.scheduleWorkers, [keys.workers], [String(WORKER_FORGOTTEN_AFTER_MS)]),
      );
      return { nowMs: Number(now), workers: entries.map(readAnnouncement) };
    },
    async wake() {
      await connection.command('PUBLISH', keys.wake, '');
    },
    async onWake(listener) {
      listeners.add(listener);
      if (subscriber === undefined) {
        subscriber = connection.subscriber();
        subscriber.on('message', () => {
          for (const each of listeners) each();
        });
        subscribed = subscriber.subscribe(keys.wake);
      }
      await subscribed;
      return async () => {
        listeners.delete(listener);
      };
    },
    async close() {
      listeners.clear();
      subscriber?.disconnect();
      connection.close();
    },
  };
}

function readAnnouncement(entry: string): WorkerAnnouncement & { readonly atMs: number } {
  const { atMs, text } = readDated(entry);
  return { ...(JSON.parse(text) as WorkerAnnouncement), atMs };
}

/** `<ms> <text>` */
function readDated(entry: string): { readonly atMs: number; readonly text: string } {
  const space = entry.indexOf(' ');
  return { atMs: Number(entry.slice(0, space)), text: entry.slice(space + 1) };
}

function inPairs(answer: readonly string[]): readonly (readonly [string, string])[] {
  const pairs: [string, string][] = [];
  for (let i = 0; i < answer.length; i += 2) pairs.push([answer[i] ?? '', answer[i + 1] ?? '']);
  return pairs;
}
