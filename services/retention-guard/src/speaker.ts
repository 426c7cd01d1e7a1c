/** What a guard says in its log, and how often: what lasts is said when it begins and when it changes. */
import { describeError } from '@tidemark/keyspace';
import type { Logger } from '@tidemark/observability';
import { DISK_WARNING_MS } from './limits.ts';
import type { DiskOutlook } from './outlook.ts';
import { type CycleReport, PartitionOutcome, type PartitionReport, type ReportedRemoval } from './report.ts';

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
export interface Speaker {
  say(report: CycleReport): void;
  sayFailure(error: unknown): void;
  sayDisks(disks: readonly DiskOutlook[], nowMs: number): void;
  sayNoOutlook(error: unknown): void;
  sayHurried(): void;
  sayNotHurried(error: unknown): void;
}

export function createSpeaker(logger: Logger): Speaker {
  let said = new Map<string, string>();
  const cycle = createComplaint(logger, 'guard.cycle_not_run');
  const outlook = createComplaint(logger, 'guard.no_forecast');
  const hurry = createComplaint(logger, 'guard.jobs_not_hurried');
  let filling = new Set<string>();
  /** As of the last look at the disks. */
  let diskFull: { readonly diskFullAt?: string } = {};
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
        for (const { holder, fromOffset, isNew } of partition.releases ?? []) {
          const { topic } = partition;
          if (isNew)
            logger.error({ topic, partition: partition.partition, holder, fromOffset }, 'retention.floor_released');
        }
        for (const { holder, floor, sinceMs } of partition.overdue ?? []) {
          const at = `overdue ${key} ${holder}`;
          now.set(at, '');
          const since = new Date(Number(sinceMs)).toISOString();
          const where = { topic: partition.topic, partition: partition.partition, ...diskFull };
          if (!said.has(at)) logger.error({ ...where, holder, floor, since }, 'retention.held_too_long');
        }
        const { removals: _, releases: __, overdue: ___, groups: ____, ...fields } = partition;
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
      if (cycle.end()) logger.info('guard.cycles_again');
      said = now;
    },
    sayDisks(disks, nowMs) {
      outlook.end();
      const now = new Set<string>();
      const soonestMs = Math.min(...disks.map(({ fullAtMs }) => fullAtMs ?? Number.POSITIVE_INFINITY));
      diskFull = Number.isFinite(soonestMs) ? { diskFullAt: new Date(soonestMs).toISOString() } : {};
      for (const { broker, directory, totalBytes, usableBytes, fullAtMs } of disks) {
        if (fullAtMs === undefined || fullAtMs - nowMs > DISK_WARNING_MS) continue;
        const disk = `${broker} ${directory}`;
        now.add(disk);
        const fields = { broker, directory, totalBytes, usableBytes, fullAt: new Date(fullAtMs).toISOString() };
        if (!filling.has(disk)) logger.error(fields, 'retention.disk_fills');
      }
      filling = now;
    },
    sayNoOutlook: outlook.say,
    sayHurried: hurry.end,
    sayNotHurried: hurry.say,
    sayFailure: cycle.say,
  };
}

/** What fails again and again with the same words is said once, until it was well in between. */
function createComplaint(logger: Logger, event: string) {
  let said = '';
  return {
    say(error: unknown): void {
      const words = describeError(error);
      if (words !== said) logger.warn({ error }, event);
      said = words;
    },
    /** Whether there was something to complain of. */
    end(): boolean {
      const was = said !== '';
      said = '';
      return was;
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
