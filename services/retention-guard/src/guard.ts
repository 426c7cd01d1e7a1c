/** The guard as a long-running part: a cycle, a pause, a cycle; and what changed is said once. */
import type { Schedule } from '@tidemark/cursors';
import { auditedJobOf } from '@tidemark/jobs';
import { describeError, ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import type { Logger, Metrics } from '@tidemark/observability';
import { runCycle } from './cycle.ts';
import { isSeriesHolder } from './judgement.ts';
import {
  CYCLE_JITTER,
  HURRIED_AT_ONCE,
  HURRY_CYCLES,
  HURRY_MS_MIN,
  YIELD_SPREAD_FACTOR,
  YIELDS_THAT_SPREAD,
} from './limits.ts';
import { createOutlook, type Outlook } from './outlook.ts';
import type { GuardParts } from './parts.ts';
import { type CycleReport, PartitionOutcome, type PartitionReport } from './report.ts';
import { createSpeaker, type Speaker } from './speaker.ts';

export interface GuardOptions extends GuardParts {
  readonly everyMs: number;
  readonly replicationFactor: number;
  readonly logger: Logger;
  readonly metrics?: GuardMetrics | undefined;
  /** Where it is said which jobs must hurry; nowhere when left out. */
  readonly schedule?: Pick<Schedule, 'hurry'> | undefined;
  readonly onCycle?: (report: CycleReport) => void;
}

export type GuardMetrics = Pick<
  Metrics,
  | 'guardPartitions'
  | 'guardOffsetsCut'
  | 'guardOffsetsHeld'
  | 'guardOffsetsRemovedByOthers'
  | 'guardCycleTimestampSeconds'
  | 'guardDriftingTopics'
  | 'guardHoldersOverdue'
  | 'guardFloorsReleased'
  | 'guardDiskFullSeconds'
>;

export interface Guard {
  /** Undefined before the first cycle, and after one that could not be run. */
  readonly lastReport: CycleReport | undefined;
  /** Why the last cycle could not be run, in words; undefined when it could, and before the first one. */
  readonly lastFault: string | undefined;
  /** Resolves when it was stopped; rejects with a fault that waiting does not cure. */
  readonly ended: Promise<void>;
  /** Idempotent; resolves when the cycle in hand is over. The clients stay the caller's. */
  stop(reason: string): Promise<void>;
}

/** Throws when its own topic is not as it must be, or Kafka cannot be reached at first. */
export async function startGuard(options: GuardOptions): Promise<Guard> {
  await options.marks.ensure(options.replicationFactor);
  const stopping = new AbortController();
  let last: LastCycle = { report: undefined, fault: undefined };
  const ended = runCycles(options, stopping.signal, (cycle) => {
    last = cycle;
  });
  // Whoever does not await the end still must not crash the process with it; `ended` keeps its rejection.
  ended.catch((error: unknown) => options.logger.error({ error }, 'guard.failed'));
  return {
    get lastReport() {
      return last.report;
    },
    get lastFault() {
      return last.fault;
    },
    ended,
    stop: async (reason) => {
      options.logger.debug({ reason }, 'guard.stopping');
      stopping.abort();
      await ended.catch(() => undefined);
    },
  };
}

interface LastCycle {
  readonly report: CycleReport | undefined;
  readonly fault: string | undefined;
}

async function runCycles(options: GuardOptions, signal: AbortSignal, onEnd: (cycle: LastCycle) => void): Promise<void> {
  const { logger, metrics, everyMs } = options;
  const speaker = createSpeaker(logger);
  const outlook = createOutlook(options);
  let yielded = 0;
  while (!signal.aborted) {
    try {
      const report = await runCycle(options);
      metrics?.guardCycleTimestampSeconds.set(options.nowMs() / 1000);
      onEnd({ report, fault: undefined });
      speaker.say(report);
      count(metrics, report);
      await hurryOverdue(report, options, speaker);
      await lookAhead(outlook, report, options, speaker);
      options.onCycle?.(report);
      yielded = report.partitions.some(({ outcome }) => outcome === PartitionOutcome.yielded) ? yielded + 1 : 0;
    } catch (error) {
      if (isForPeople(error)) throw error;
      onEnd({ report: undefined, fault: describeError(error) });
      speaker.sayFailure(error);
    }
    await sleep(pauseMs(everyMs, yielded), signal);
  }
}

/**
 * A job that holds the log for longer than it may is to be served before all others. The distributor owns the list of jobs and
 * decides; it is told by a hint that ends by itself when it is not said again, so that nobody has to take it back.
 */
async function hurryOverdue({ partitions }: CycleReport, options: GuardOptions, speaker: Speaker): Promise<void> {
  const { schedule, everyMs } = options;
  const holders = new Set(partitions.flatMap(({ overdue = [] }) => overdue.map(({ holder }) => holder)));
  // What is held for an audit waits for the audit: it goes no sooner for a job that is served first.
  const isJob = (holder: string): boolean => !isSeriesHolder(holder) && auditedJobOf(holder) === undefined;
  const jobIds = [...holders].filter(isJob).slice(0, HURRIED_AT_ONCE);
  if (schedule === undefined || jobIds.length === 0) return;
  try {
    await schedule.hurry({ jobIds, ttlMs: Math.max(HURRY_MS_MIN, HURRY_CYCLES * everyMs) });
    speaker.sayHurried();
  } catch (error) {
    speaker.sayNotHurried(error);
  }
}

/** Only a forecast: whoever may not ask for disks still guards. */
async function lookAhead(
  outlook: Outlook,
  report: CycleReport,
  { metrics, nowMs }: GuardOptions,
  speaker: Speaker,
): Promise<void> {
  try {
    const disks = await outlook.look(report);
    const soonestMs = Math.min(...disks.map(({ fullAtMs }) => fullAtMs ?? Number.POSITIVE_INFINITY));
    metrics?.guardDiskFullSeconds.set(Number.isFinite(soonestMs) ? (soonestMs - nowMs()) / 1000 : undefined);
    speaker.sayDisks(disks, nowMs());
  } catch (error) {
    metrics?.guardDiskFullSeconds.set(undefined);
    speaker.sayNoOutlook(error);
  }
}

/** Two guards that opened their sessions at the same time would fence each other for ever if both came back as soon as before. */
function pauseMs(everyMs: number, yielded: number): number {
  const spread = CYCLE_JITTER * (1 + Math.min(yielded, YIELDS_THAT_SPREAD) * YIELD_SPREAD_FACTOR);
  return everyMs * (1 - CYCLE_JITTER / 2 + spread * Math.random());
}

/** A bug or a setting stays what it is; a service that is down, or a topic that changed under us, may be fine next time. */
function isForPeople(error: unknown): boolean {
  return !(error instanceof TidemarkError) || error.class === ErrorClass.bug || error.class === ErrorClass.config;
}

function count(metrics: GuardMetrics | undefined, { partitions, drift }: CycleReport): void {
  if (metrics === undefined) return;
  for (const outcome of Object.values(PartitionOutcome))
    metrics.guardPartitions.set(partitions.filter((each) => each.outcome === outcome).length, outcome);
  metrics.guardOffsetsCut.add(sum(partitions, 'cutOffsets'));
  metrics.guardOffsetsHeld.set(sum(partitions, 'heldOffsets'));
  metrics.guardDriftingTopics.set(drift.size);
  metrics.guardHoldersOverdue.set(
    new Set(partitions.flatMap(({ overdue = [] }) => overdue.map(({ holder }) => holder))).size,
  );
  metrics.guardFloorsReleased.add(
    partitions.flatMap(({ releases = [] }) => releases.filter(({ isNew }) => isNew)).length,
  );
  for (const { removals = [] } of partitions)
    for (const { from, to, needed, isNew } of removals)
      if (isNew) metrics.guardOffsetsRemovedByOthers.add(to - from, needed.length > 0 ? 'yes' : 'no');
}

function sum(partitions: readonly PartitionReport[], field: 'cutOffsets' | 'heldOffsets'): bigint {
  return partitions.reduce((total, partition) => total + partition[field], 0n);
}
