/**
 * The names of all keys, and nothing but names. The part in braces decides the slot of a cluster:
 *
 *   <namespace>:{sched}:…      the job index and the workers: hints, never truth
 *   <namespace>:{<jobId>}:…    all that the scripts of one job touch
 *   <namespace>:{floor:<topic>:<partition>}:<topicId>    the floors and the mark of one partition
 *
 * No script spans two of these. A script gets every key that it touches from here and builds none itself.
 */
import { checkNamespace, ErrorClass, isJobId, JOB_ID_RULE, TidemarkError } from '@tidemark/keyspace';
import type { FloorPlace } from './floor-ports.ts';

/** Braces would move the slot, white space and control characters would hide in logs. */
const SAFE = /^[^{}\s\p{Cc}]+$/u;

export interface JobKeys {
  /** Hash: incarnation, epoch, mode, definition, rangeCount, `end:<partition>`. */
  readonly job: string;
  /** Sorted set, every score 0: range ids in their order. Where a range ends is read from here. */
  readonly ranges: string;
  /** Sorted set: open ranges by the time (ms) at which they may be leased. */
  readonly ready: string;
  /** Hash: all that is known of one range. */
  range(rangeId: string): string;
}

export interface ScheduleKeys {
  /** Hash: job id -> definition. */
  readonly jobs: string;
  /** Hash: job id -> its member in `order`. */
  readonly places: string;
  /** Sorted set, every score 0: `<inverted priority>:<turn>:<job id>`, the next to be served first. */
  readonly order: string;
  /** Sorted set: job id by the turn in which it was last served, whatever its priority. */
  readonly served: string;
  /** Counter: turns so far. */
  readonly turn: string;
  /** Hash: worker id -> `<ms> <announcement>`. */
  readonly workers: string;
  /** Sorted set: `<job id> <slot>` by the time (ms) at which the permit ends. */
  readonly permits: string;
  /** Sorted set: bucket by the instant (us) at which all that was booked will be worked off. */
  readonly rates: string;
  /** Hash: job id -> `<ms> <reason>`. */
  readonly waiting: string;
  /** Sorted set: job id by the time (ms) until which it must be served before all others. */
  readonly hurried: string;
  /** Sorted set: slot by the time (ms) at which its permit for the job ends. */
  permitsOf(jobId: string): string;
  /** A channel, not a key. */
  readonly wake: string;
}

export function jobKeys(namespace: string, jobId: string): JobKeys {
  checkNamespace(namespace);
  checkJobId(jobId);
  const slot = `${namespace}:{${jobId}}`;
  return {
    job: `${slot}:job`,
    ranges: `${slot}:ranges`,
    ready: `${slot}:ready`,
    range: (rangeId) => `${slot}:range:${rangeId}`,
  };
}

export function scheduleKeys(namespace: string): ScheduleKeys {
  checkNamespace(namespace);
  const slot = `${namespace}:{sched}`;
  return {
    jobs: `${slot}:jobs`,
    places: `${slot}:places`,
    order: `${slot}:order`,
    served: `${slot}:served`,
    turn: `${slot}:turn`,
    workers: `${slot}:workers`,
    permits: `${slot}:permits`,
    rates: `${slot}:rates`,
    waiting: `${slot}:waiting`,
    hurried: `${slot}:hurried`,
    permitsOf: (jobId) => {
      checkJobId(jobId);
      return `${slot}:permits:${jobId}`;
    },
    wake: `${slot}:wake`,
  };
}

/** String: `<ms until which it leads> <leader>`. */
export function leaderKey(namespace: string, role: string): string {
  checkNamespace(namespace);
  return `${namespace}:{sched}:leader:${role}`;
}

/** Hash: incarnation, life, mark, `floor:<holder>` = offset, or `offset:<deadline ms>` of a reservation. */
export function floorKey(namespace: string, { topic, topicId, partition }: FloorPlace): string {
  checkNamespace(namespace);
  if (!SAFE.test(topic) || !SAFE.test(topicId) || !Number.isInteger(partition) || partition < 0)
    throw new TidemarkError({
      code: 'BAD_PLACE',
      class: ErrorClass.bug,
      message: `not a partition of a topic: ${JSON.stringify({ topic, topicId, partition })}`,
    });
  return `${namespace}:{floor:${topic}:${partition}}:${topicId}`;
}

/** Throws TidemarkError `data` (BAD_JOB_ID). */
export function checkJobId(jobId: string): void {
  if (isJobId(jobId)) return;
  throw new TidemarkError({
    code: 'BAD_JOB_ID',
    class: ErrorClass.data,
    message: `not a job id: ${JSON.stringify(jobId.slice(0, 200))}; it must be ${JOB_ID_RULE}`,
  });
}

/** A job, the audit of one, or a series by its name. Throws TidemarkError `data` (BAD_HOLDER). */
export function checkHolder(holder: string): void {
  const prefix = HOLDER_PREFIXES.find((each) => holder.startsWith(each)) ?? '';
  if (isJobId(holder.slice(prefix.length))) return;
  throw new TidemarkError({
    code: 'BAD_HOLDER',
    class: ErrorClass.data,
    message: `not a holder of floors: ${JSON.stringify(holder.slice(0, 200))}; it must be a job id, ${HOLDER_PREFIXES.map((each) => `${each}NAME`).join(' or ')}, each ${JOB_ID_RULE}`,
  });
}

const HOLDER_PREFIXES = ['series:', 'audit:'];
