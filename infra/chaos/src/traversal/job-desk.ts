/** Asks for jobs all the time and keeps what was asked for, so that the judge can tell what had to come of it. */
import { setTimeout as delay } from 'node:timers/promises';
import type { JobRequested, JobState } from '@tidemark/contracts';
import { isTerminal, type JobLog, newRequest } from '@tidemark/jobs';
import { waitFor } from '@tidemark/testkit';
import { type Chance, chanceOf } from '@tidemark/testkit/chance';
import { SEED_MAX } from '../limits.ts';
import {
  ASK_ANYWAY_MS,
  CHUNK_RECORDS,
  OPEN_JOBS_MAX,
  RECOVERY_MAX_MS,
  REQUEST_EVERY_MS,
  WINDOW_RECORDS_MIN,
} from './limits.ts';
import type { Mode } from './misbehaviour.ts';

export interface AskedWindow {
  readonly partition: number;
  /** First offset, as asked for. */
  readonly first: bigint;
  /** At least up to here: the last one that was acknowledged before the request. Exactly, when `isExact`. */
  readonly last: bigint;
}

export interface AskedJob {
  readonly jobId: string;
  readonly topic: string;
  readonly ordering: string;
  readonly mode: Mode | undefined;
  readonly salt: number;
  /** False: the end is whatever the log held at the pin. */
  readonly isExact: boolean;
  readonly windows: readonly AskedWindow[];
}

export interface JobDesk {
  readonly asked: readonly AskedJob[];
  /** The newest known state. */
  state(jobId: string): JobState | undefined;
  openJobs(): readonly string[];
  ask(job: Omit<AskedJob, 'jobId' | 'salt'> & { readonly request: Partial<JobRequested> }): Promise<AskedJob>;
  /** Until the job has ended; undefined when it has not by then. */
  ended(jobId: string, timeoutMs: number): Promise<JobState>;
  /** No more jobs of its own; asking for one stays possible. */
  stopAsking(): Promise<void>;
  close(): Promise<void>;
}

export interface DeskOptions {
  readonly jobLog: JobLog;
  readonly chance: Chance;
  /** It asks for windows of these by itself; of none, nothing. */
  readonly topics: readonly string[];
  readonly acknowledged: (topic: string) => ReadonlyMap<number, bigint>;
  readonly progress: (line: string) => void;
}

export function openJobDesk(options: DeskOptions): JobDesk {
  const { jobLog, chance, topics, acknowledged, progress } = options;
  /** A stream of its own: how often it is drawn depends on the timing, and must not change which jobs are asked for. */
  const salts = chanceOf(chance.between(0, SEED_MAX));
  const states = new Map<string, JobState>();
  const asked: AskedJob[] = [];
  const closing = new AbortController();
  const following = followForEver(jobLog, (state) => void states.set(state.jobId, state), closing.signal);
  /** Where the next window of each partition starts. */
  const nexts = new Map<string, Map<number, bigint>>(topics.map((topic) => [topic, new Map()]));
  let isAsking = topics.length > 0;

  const openJobs = (): string[] => asked.map(({ jobId }) => jobId).filter((jobId) => !isOver(states.get(jobId)));

  const ask: JobDesk['ask'] = async ({ request, ...job }) => {
    const jobId = `chaos-${asked.length + 1}`;
    const salt = salts.between(0, SALT_MAX);
    const whole: AskedJob = { ...job, jobId, salt };
    asked.push(whole);
    const parameters = { salt: String(salt), mode: job.mode ?? '' };
    const text = (place: (window: AskedWindow) => bigint): string =>
      job.windows.map((window) => `${window.partition}:${place(window)}`).join(',');
    const fields = {
      ...{ jobId, topic: job.topic, handler: 'chaos-ledger', ordering: job.ordering, parameters },
      ...{ from: text(({ first }) => first), to: job.isExact ? text(({ last }) => last) : 'now' },
      ...{ chunkRecords: CHUNK_RECORDS, requestedBy: 'chaos' },
    };
    await requestUntilDurable(jobLog, newRequest({ ...fields, ...request }), closing.signal);
    return whole;
  };

  const askAgainAndAgain = async (): Promise<void> => {
    let lastMs = performance.now();
    while (isAsking) {
      await delay(REQUEST_EVERY_MS);
      const topic = chance.pick(topics);
      const kind = draw(chance);
      if (openJobs().length >= OPEN_JOBS_MAX && performance.now() - lastMs < ASK_ANYWAY_MS) continue;
      const next = nexts.get(topic) ?? new Map<number, bigint>();
      const windows = windowsBetween(next, acknowledged(topic));
      if (windows.reduce((sum, { first, last }) => sum + last - first + 1n, 0n) < WINDOW_RECORDS_MIN) continue;
      for (const { partition, last } of windows) next.set(partition, last + 1n);
      lastMs = performance.now();
      const { isExact, ordering, rangesPerPartition } = kind;
      await ask({ topic, ordering, isExact, mode: undefined, windows, request: { rangesPerPartition } });
    }
  };
  const asking = askAgainAndAgain().catch((error: unknown) => progress(`asking for jobs failed: ${String(error)}`));

  return {
    asked,
    state: (jobId) => states.get(jobId),
    openJobs,
    ask,
    ended: (jobId, timeoutMs) =>
      waitFor(
        `job ${jobId} to end (${states.get(jobId)?.state ?? 'no answer'})`,
        () => {
          const state = states.get(jobId);
          return isOver(state) ? state : undefined;
        },
        { timeoutMs },
      ),
    async stopAsking() {
      isAsking = false;
      await asking;
    },
    async close() {
      isAsking = false;
      closing.abort();
      await Promise.all([asking, following]);
    },
  };
}

const SALT_MAX = 9_999;

const ORDERINGS = ['none', 'key', 'key', 'partition', 'none'] as const;

/** Drawn whether or not a job comes of it, so that the draws do not depend on how fast jobs end. */
function draw(chance: Chance) {
  const ordering = chance.pick(ORDERINGS);
  const isExact = chance.next() < 0.5;
  const parts = chance.between(1, 2);
  return { ordering, isExact, rangesPerPartition: ordering === 'none' ? parts : 1 };
}

function windowsBetween(
  next: ReadonlyMap<number, bigint>,
  acknowledged: ReadonlyMap<number, bigint>,
): readonly AskedWindow[] {
  return [...acknowledged]
    .map(([partition, end]) => ({ partition, first: next.get(partition) ?? 0n, last: end - 1n }))
    .filter(({ first, last }) => last >= first);
}

function isOver(state: JobState | undefined): boolean {
  return state !== undefined && (isTerminal(state.state) || state.state === 'REFUSED');
}

/** Asking twice is asking once: the id is the same. */
async function requestUntilDurable(jobLog: JobLog, request: JobRequested, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + RECOVERY_MAX_MS;
  for (;;) {
    try {
      await jobLog.request(request);
      return;
    } catch (error) {
      if (signal.aborted || performance.now() > deadline) throw error;
      await delay(500);
    }
  }
}

async function followForEver(jobLog: JobLog, onState: (state: JobState) => void, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await jobLog.follow(onState, signal).catch(() => undefined);
    if (!signal.aborted) await delay(500);
  }
}
