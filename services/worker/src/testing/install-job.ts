/** Pins a window and puts the job into the store, as a distributor would, without any of its durability. */
import { randomUUID } from 'node:crypto';
import type { CursorStore, RangeState, Schedule } from '@tidemark/cursors';
import { encodeDefinition, type JobDefinition } from '@tidemark/jobs';
import {
  cursorBefore,
  NO_COUNTS,
  type Offset,
  offsetMax,
  RangeStatus,
  splitWindow,
  toOffset,
} from '@tidemark/keyspace';
import type { LogCatalog, TopicDescription } from '@tidemark/log';
import { waitFor } from '@tidemark/testkit/wait-for';
import { jobDefinition } from './job-definition.ts';

export interface InstallOptions extends Partial<Omit<JobDefinition, 'topicId' | 'formatVersion'>> {
  readonly catalog: LogCatalog;
  readonly store: CursorStore;
  readonly schedule: Schedule;
  readonly topic: string;
  readonly handler: string;
  readonly rangesPerPartition?: number;
  /** Cursors to begin at, by partition; the log start by default. */
  readonly start?: (partition: number) => bigint | undefined;
  /** Last offsets, by partition; the high watermark - 1 by default. */
  readonly end?: (partition: number) => bigint | undefined;
}

export interface InstalledJob {
  readonly jobId: string;
  readonly definition: JobDefinition;
  /** Ranges by partition, then start. */
  ranges(): Promise<readonly RangeState[]>;
  /** Resolves to all ranges when none is open any more; throws with their states when the time is over. */
  closed(timeoutMs?: number): Promise<readonly RangeState[]>;
}

export async function installJob(options: InstallOptions): Promise<InstalledJob> {
  const { catalog, store, schedule, topic, handler, rangesPerPartition = 1, start, end, ...fields } = options;
  const description = await catalog.describe(topic);
  if (description === undefined) throw new Error(`no topic ${topic}`);
  const jobId = fields.jobId ?? `job-${randomUUID()}`;
  const definition = jobDefinition({ ...fields, jobId, topic, handler, topicId: description.topicId });
  const windows = await windowsOf(catalog, description, { start, end });
  await store.install({
    jobId,
    definition: textOf(definition),
    epoch: toOffset(1),
    incarnation: await store.incarnation(),
    ends: windows.map(({ partition, end: last }) => ({ partition, end: last })),
    ranges: windows.flatMap((window) =>
      splitWindow(window, rangesPerPartition).map((range) => freshRange(window.partition, range)),
    ),
  });
  await schedule.enlist({ jobId, definition: textOf(definition), priority: 0 });
  await schedule.wake();
  const ranges = async (): Promise<readonly RangeState[]> => (await store.snapshot(jobId))?.ranges ?? [];
  return { jobId, definition, ranges, closed: (timeoutMs) => waitClosed(ranges, timeoutMs) };
}

function textOf({ formatVersion: _, ...definition }: JobDefinition): string {
  return encodeDefinition(definition);
}

interface Bounds {
  readonly start: InstallOptions['start'] | undefined;
  readonly end: InstallOptions['end'] | undefined;
}

async function windowsOf(
  catalog: LogCatalog,
  description: TopicDescription,
  bounds: Bounds,
): Promise<readonly { partition: number; start: Offset; end: Offset }[]> {
  const offsets = await catalog.offsets(description);
  return offsets.map(({ partition, logStartOffset, highWatermark }) => {
    const start = toOffset(bounds.start?.(partition) ?? cursorBefore(logStartOffset));
    const end = toOffset(bounds.end?.(partition) ?? cursorBefore(highWatermark));
    return { partition, start, end: offsetMax(end, start) };
  });
}

function freshRange(partition: number, window: { readonly start: Offset; readonly end: Offset }) {
  const { start, end } = window;
  return {
    partition,
    start,
    cursor: start,
    horizon: start,
    status: end > start ? RangeStatus.open : RangeStatus.done,
    note: '',
    lost: [],
    passed: [],
    parked: [],
    counters: NO_COUNTS,
    version: 1n,
  };
}

async function waitClosed(
  ranges: () => Promise<readonly RangeState[]>,
  timeoutMs: number | undefined,
): Promise<readonly RangeState[]> {
  const look = async (): Promise<readonly RangeState[]> => {
    const now = await ranges();
    if (now.length > 0 && now.every(({ status }) => status !== RangeStatus.open)) return now;
    throw new Error(`still open: ${describe(now)}`);
  };
  return waitFor('no open range', look, timeoutMs === undefined ? {} : { timeoutMs });
}

function describe(ranges: readonly RangeState[]): string {
  return ranges
    .map(({ partition, cursor, end, status, note }) => `p${partition} ${cursor}/${end} ${status} ${note}`)
    .join('; ');
}
