/** The guard as a long-running part: a cycle, a pause, a cycle; and what changed is said once. */
import { describeError, ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import type { Logger, Metrics } from '@tidemark/observability';
import { runCycle } from './cycle.ts';
import { CYCLE_JITTER, DISK_WARNING_MS, YIELD_SPREAD_FACTOR, YIELDS_THAT_SPREAD } from './limits.ts';
import { createOutlook, type DiskOutlook, type Outlook } from './outlook.ts';
import type { GuardParts } from './parts.ts';
import { type CycleReport, PartitionOutcome, type PartitionReport, type ReportedRemoval } from './report.ts';

export interface GuardOptions extends GuardParts {
  readonly everyMs: number;
  readonly replicationFactor: number;
  readonly logger: Logger;
  readonly metrics?: GuardMetrics | undefined;
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

const SAID_AS = {
  [PartitionOutcome.cut]: 'info',
  [PartitionOutcome.idle]: 'debug',
  [PartitionOutcome.held]: 'debug',
  [PartitionOutcome.unread]: 'info',
  [PartitionOutcome.yielded]: 'debug',
  [PartitionOutcome.incomplete]: 'warn',
  [PartitionOutcome.failed]: 'warn',
  [PartitionOutcome.beyondLog]: 'error',
  [PartitionOutcome.refused]: 'error',
} as const satisfies Record<PartitionOutcome, 'debug' | 'info' | 'warn' | 'error'>;

/** A condition that lasts is said when it begins and when it changes, not in every cycle; a cut is always said. */
interface Speaker {
  say(report: CycleReport): void;
  sayFailure(error: unknown): void;
  sayDisks(disks: readonly DiskOutlook[], nowMs: number): void;
  sayNoOutlook(error: unknown): void;
}

function createSpeaker(logger: Logger): Speaker {
  let said = new Map<string, string>();
  let failure = '';
  let blind = '';
  let filling = new Set<string>();
  return {
    say({ partitions, drift, repaired, recreated, staleFloors }) {
      for (const stale of staleFloors) logger.warn({ ...stale }, 'retention.stale_floor_dropped');
      const now = new Map<string, string>();
      for (const partition of partitions) {
        const key = `${partition.topic}/${partition.partition ?? ''}`;
        const words = `${partition.outcome} ${partition.reason}`;
        now.set(key, words);
        for (const removal of partition.removals ?? []) {
          const at = `removed ${key} ${removal.from}`;
          now.set(at, '');
          if (!said.has(at)) sayRemoval(logger, partition, removal);
        }
        const { removals: _, ...fields } = partition;
        if (partition.outcome === PartitionOutcome.cut || said.get(key) !== words)
          logger[SAID_AS[partition.outcome]](fields, `retention.${partition.outcome}`);
      }
      for (const [topic, words] of recreated) {
        now.set(`recreated ${topic}`, words);
        if (said.get(`recreated ${topic}`) !== words) logger.error({ topic, what: words }, 'retention.topic_recreated');
      }
      for (const [topic, settings] of repaired)
        logger.warn({ topic, settings: settings.join('; ') }, 'retention.settings_repaired');
      for (const [topic, settings] of drift) {
        const words = settings.join('; ');
        now.set(`drift ${topic}`, words);
        if (said.get(`drift ${topic}`) !== words)
          logger.error({ topic, settings: words }, 'retention.broker_would_delete');
      }
      if (failure !== '') logger.info('guard.cycles_again');
      failure = '';
      said = now;
    },
    sayDisks(disks, nowMs) {
      blind = '';
      const now = new Set<string>();
      for (const { broker, directory, totalBytes, usableBytes, fullAtMs } of disks) {
        if (fullAtMs === undefined || fullAtMs - nowMs > DISK_WARNING_MS) continue;
        const disk = `${broker} ${directory}`;
        now.add(disk);
        const fields = { broker, directory, totalBytes, usableBytes, fullAt: new Date(fullAtMs).toISOString() };
        if (!filling.has(disk)) logger.error(fields, 'retention.disk_fills');
      }
      filling = now;
    },
    sayNoOutlook(error) {
      const words = describeError(error);
      if (words !== blind) logger.warn({ error }, 'guard.no_forecast');
      blind = words;
    },
    sayFailure(error) {
      const words = describeError(error);
      if (words !== failure) logger.warn({ error }, 'guard.cycle_not_run');
      failure = words;
    },
  };
}

/** Somebody must find out who it was; whoever needed the records must be told. */
function sayRemoval(logger: Logger, { topic, partition }: PartitionReport, removal: ReportedRemoval): void {
  const { from, to, needed } = removal;
  const who = needed.map((each) => `${each.holder} [${each.from}, ${each.to})`).join(', ');
  const fields = { topic, partition, removed: `[${from}, ${to})`, neededBy: who };
  if (needed.length > 0) logger.error(fields, 'retention.needed_records_removed_by_others');
  else logger.error(fields, 'retention.records_removed_by_others');
}

function count(metrics: GuardMetrics | undefined, { partitions, drift }: CycleReport): void {
  if (metrics === undefined) return;
  for (const outcome of Object.values(PartitionOutcome))
    metrics.guardPartitions.set(partitions.filter((each) => each.outcome === outcome).length, outcome);
  metrics.guardOffsetsCut.add(sum(partitions, 'cutOffsets'));
  metrics.guardOffsetsHeld.set(sum(partitions, 'heldOffsets'));
  metrics.guardDriftingTopics.set(drift.size);
  for (const { removals = [] } of partitions)
    for (const { from, to, needed, isNew } of removals)
      if (isNew) metrics.guardOffsetsRemovedByOthers.add(to - from, needed.length > 0 ? 'yes' : 'no');
}

function sum(partitions: readonly PartitionReport[], field: 'cutOffsets' | 'heldOffsets'): bigint {
  return partitions.reduce((total, partition) => total + partition[field], 0n);
}
