/** The schedule as a value in memory; the contract suite holds it and the one in Redis together. */
import { boundedLimit, boundedNote, checkHurry, checkTtl, permitOf } from '../calls.ts';
import { checkJobId } from '../keys.ts';
import {
  LONGEST_WAITING_TURNS,
  PROPOSALS_MAX,
  WAITING_FORGOTTEN_AFTER_MS,
  WORKER_FORGOTTEN_AFTER_MS,
} from '../limits.ts';
import { bookingCostUs, boundedWaitUs, decideBooking } from '../rate.ts';
import { invertedPriority } from '../schedule-order.ts';
import type { Schedule, WorkerAnnouncement } from '../schedule-ports.ts';

interface ListedJob {
  readonly jobId: string;
  readonly definition: string;
  readonly order: string;
  /** The turn in which it was last served; 0 = never. */
  readonly turn: number;
}

interface Permit {
  readonly jobId: string;
  readonly untilMs: number;
}

export function createMemorySchedule(options: { readonly now: () => number }): Schedule {
  const jobs = new Map<string, ListedJob>();
  const workers = new Map<string, WorkerAnnouncement & { readonly atMs: number }>();
  const listeners = new Set<() => void>();
  const permits = new Map<string, Permit>();
  const workedOffUs = new Map<string, number>();
  const waits = new Map<string, { readonly reason: string; readonly atMs: number }>();
  const hurriedUntilMs = new Map<string, number>();
  let turn = 0;

  const serve = (job: ListedJob): { readonly jobId: string; readonly definition: string } => {
    turn += 1;
    jobs.set(job.jobId, { ...job, turn });
    return { jobId: job.jobId, definition: job.definition };
  };

  return {
    async propose({ limit }) {
      const listedCount = jobs.size;
      const isTurnOfAll = turn % LONGEST_WAITING_TURNS === LONGEST_WAITING_TURNS - 1;
      const bounded = boundedLimit(limit, PROPOSALS_MAX);
      return { jobs: chosen([...jobs.values()], bounded, isTurnOfAll).map(serve), listedCount };
    },
    async permit({ jobId, slot, jobMax, allMax, ttlMs }) {
      checkJobId(jobId);
      checkTtl(ttlMs);
      const nowMs = options.now();
      for (const [key, { untilMs }] of permits) if (untilMs <= nowMs) permits.delete(key);
      const key = permitOf({ jobId, slot });
      const ofJob = [...permits.values()].filter((permit) => permit.jobId === jobId);
      const scope = fullScope({ jobMax, allMax, ofJob: ofJob.length, ofAll: permits.size });
      if (scope !== undefined && !permits.has(key)) {
        waits.set(jobId, { reason: 'permit', atMs: nowMs });
        return { kind: 'full', scope };
      }
      permits.set(key, { jobId, untilMs: nowMs + ttlMs });
      waits.delete(jobId);
      return { kind: 'granted' };
    },
    async returnPermit(held) {
      checkJobId(held.jobId);
      permits.delete(permitOf(held));
    },
    async bookRate({ bucket, perSecond, records, waitMsMax }) {
      const { waitMs, nextUs } = decideBooking(workedOffUs.get(bucket), {
        costUs: bookingCostUs({ perSecond, records }),
        waitUsMax: boundedWaitUs(waitMsMax),
        nowUs: options.now() * 1_000,
      });
      if (nextUs !== undefined) workedOffUs.set(bucket, nextUs);
      return { waitMs };
    },
    async noteWaiting({ jobId, reason }) {
      checkJobId(jobId);
      waits.set(jobId, { reason: boundedNote(reason), atMs: options.now() });
    },
    async waiting() {
      const nowMs = options.now();
      for (const [jobId, { atMs }] of waits) if (nowMs - atMs > WAITING_FORGOTTEN_AFTER_MS) waits.delete(jobId);
      return new Map(waits);
    },
    async hurry({ jobIds, ttlMs }) {
      checkHurry({ jobIds, ttlMs });
      for (const jobId of jobIds) hurriedUntilMs.set(jobId, options.now() + ttlMs);
    },
    async hurried() {
      const nowMs = options.now();
      for (const [jobId, untilMs] of hurriedUntilMs) if (untilMs <= nowMs) hurriedUntilMs.delete(jobId);
      return new Set(hurriedUntilMs.keys());
    },
    async enlist({ jobId, definition, priority }) {
      checkJobId(jobId);
      jobs.set(jobId, { jobId, definition, order: invertedPriority(priority), turn: jobs.get(jobId)?.turn ?? 0 });
    },
    async withdraw(jobId) {
      checkJobId(jobId);
      jobs.delete(jobId);
      waits.delete(jobId);
      hurriedUntilMs.delete(jobId);
      for (const [key, permit] of permits) if (permit.jobId === jobId) permits.delete(key);
    },
    async listed() {
      return [...jobs.keys()];
    },
    async announce(worker) {
      workers.set(worker.workerId, { ...worker, atMs: options.now() });
    },
    async workers() {
      const nowMs = options.now();
      for (const { workerId, atMs } of workers.values())
        if (nowMs - atMs > WORKER_FORGOTTEN_AFTER_MS) workers.delete(workerId);
      return { nowMs, workers: [...workers.values()] };
    },
    async wake() {
      for (const listener of listeners) listener();
    },
    async onWake(listener) {
      listeners.add(listener);
      return async () => {
        listeners.delete(listener);
      };
    },
    async close() {
      listeners.clear();
    },
  };
}

function fullScope(count: {
  readonly jobMax: number;
  readonly allMax: number;
  readonly ofJob: number;
  readonly ofAll: number;
}): 'job' | 'all' | undefined {
  if (count.jobMax > 0 && count.ofJob >= count.jobMax) return 'job';
  return count.allMax > 0 && count.ofAll >= count.allMax ? 'all' : undefined;
}

/** By priority, then whoever waited longest; the last of several places, or of a turn of all, goes to whoever waited longest of all. */
function chosen(jobs: readonly ListedJob[], limit: number, isTurnOfAll: boolean): readonly ListedJob[] {
  const byPriority = [...jobs].sort(
    (a, b) => compare(a.order, b.order) || a.turn - b.turn || compare(a.jobId, b.jobId),
  );
  if (jobs.length < limit || limit < (isTurnOfAll ? 1 : 2)) return byPriority.slice(0, limit);
  const urgent = byPriority.slice(0, limit - 1);
  const waiting = jobs
    .filter((job) => !urgent.includes(job))
    .sort((a, b) => a.turn - b.turn || compare(a.jobId, b.jobId));
  return [...urgent, ...waiting.slice(0, 1)];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
