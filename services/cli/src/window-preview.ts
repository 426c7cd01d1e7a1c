/** What a window holds, takes and keeps, as `tidemark window` and `tidemark job submit --dry-run` tell it. */
import {
  type Amount,
  type Column,
  describeCount,
  describeDuration,
  type ExpectedTime,
  expectedTime,
  type FloorCost,
  type KnownPace,
  type PlannedWindow,
  type PreviewedPartition,
  paceOfHandler,
  previewWindow,
  tableLines,
  type WindowPreview,
} from '@tidemark/control';
import type { LogConnections } from '@tidemark/control/connect';
import type { Command } from 'commander';
import { wholeNumber } from './arguments.ts';
import type { Context } from './context.ts';
import { instant } from './output.ts';

export interface PreviewCliOptions {
  readonly count: boolean;
  readonly recordsPerSecond?: number;
}

export function withPreviewOptions(command: Command): Command {
  return command
    .option('--count', 'read the whole window and count, instead of estimating from a few places', false)
    .option('--records-per-second <count>', 'the pace that the time is reckoned with', wholeNumber({ min: 1 }));
}

export interface TimedPreview {
  readonly preview: WindowPreview;
  readonly time: ExpectedTime;
}

/** `ratePerSecond`: the job's own; 0 = none. Without a handler only a pace that is named is known. */
export async function previewOf(
  { terminal }: Pick<Context, 'terminal'>,
  { cluster, jobLog }: Pick<LogConnections, 'cluster' | 'jobLog'>,
  question: {
    readonly plan: PlannedWindow;
    readonly floors: Parameters<typeof previewWindow>[2]['floors'];
    readonly options: PreviewCliOptions;
    readonly handler: string | undefined;
    readonly ratePerSecond: number;
  },
): Promise<TimedPreview> {
  const { plan, floors, options, handler, ratePerSecond } = question;
  const { count, recordsPerSecond } = options;
  const preview = await previewWindow(cluster, plan, { floors, count, nowMs: Date.now(), signal: terminal.signal });
  const pace = await paceOf(recordsPerSecond, handler, async () => (await jobLog.states()).values());
  return { preview, time: expectedTime({ records: preview.sum.matched?.value ?? null, pace, ratePerSecond }) };
}

async function paceOf(
  named: number | undefined,
  handler: string | undefined,
  states: () => Promise<Parameters<typeof paceOfHandler>[0]>,
): Promise<KnownPace | undefined> {
  if (named !== undefined) return { perSecond: named, source: '--records-per-second' };
  return handler === undefined ? undefined : paceOfHandler(await states(), handler);
}

export function previewJson({ preview, time }: TimedPreview): object {
  const { topic, sum, floorsUnknown } = preview;
  return {
    topic: topic.topic,
    topicId: topic.topicId,
    partitions: partitionsJson(preview),
    sum: {
      ...sum,
      matched: amountJson(sum.matched),
      bytes: amountJson(sum.bytes),
      oldestMs: undefined,
      oldest: instantOrNull(sum.oldestMs),
    },
    time,
    floorsUnknown,
  };
}

export function partitionsJson({ topic, partitions }: WindowPreview): readonly object[] {
  return partitions.map(({ floor, matched, bytes, ...window }) => ({
    topic: topic.topic,
    topicId: topic.topicId,
    ...window,
    ...placesOf(window),
    matched: amountJson(matched),
    bytes: amountJson(bytes),
    floor: floor && { ...floor, oldestMs: undefined, oldest: instantOrNull(floor.oldestMs) },
  }));
}

/** The first and the last offset, both included, as people write them; null of an empty window. */
function placesOf({ start, end, offsets }: Pick<PreviewedPartition, 'start' | 'end' | 'offsets'>) {
  return offsets === 0n ? { first: null, last: null } : { first: start + 1n, last: end };
}

function amountJson(amount: Amount | null): object | null {
  return amount && { value: amount.value, exact: amount.isExact };
}

function instantOrNull(ms: bigint | null): string | null {
  return ms === null ? null : instant(ms);
}

/** `holdMs`: for how long after the end of the job its window stays, for an audit. */
export function previewLines({ preview, time }: TimedPreview, holdMs = 0n): readonly string[] {
  const { partitions, sum, floorsUnknown } = preview;
  const rows: readonly WindowRow[] = partitions.map((partition) => ({
    ...partition,
    ...placesOf(partition),
    title: String(partition.partition),
  }));
  const total: WindowRow = { ...sum, title: 'all', first: null, last: null, clamped: '', cutShort: '' };
  const held = partitions.flatMap(({ partition, floor }): readonly HeldRow[] =>
    floor === null ? [] : [{ ...floor, title: String(partition), floor }],
  );
  return [
    ...tableLines(WINDOW_COLUMNS, rows.length > 1 ? [...rows, total] : rows),
    `time: ${timeText(time)}`,
    ...(held.length === 0
      ? ['it would hold nothing of the log']
      : [
          heldUntilText(holdMs),
          ...tableLines(HELD_COLUMNS, held.length > 1 ? [...held, { ...sum, title: 'all' }] : held),
        ]),
    ...(floorsUnknown === '' || held.length === 0 ? [] : [`who else holds them is not known: ${floorsUnknown}`]),
  ];
}

function heldUntilText(holdMs: bigint): string {
  if (holdMs === 0n) return 'until it has passed them, a job would hold these records in the log:';
  return `until an audit has proved it, or ${describeDuration(Number(holdMs))} after its end, a job would hold these records in the log, and all that come after them:`;
}

interface WindowRow extends Pick<PreviewedPartition, 'offsets' | 'matched' | 'bytes' | 'clamped' | 'cutShort'> {
  readonly title: string;
  readonly first: bigint | null;
  readonly last: bigint | null;
}

const WINDOW_COLUMNS: readonly Column<WindowRow>[] = [
  { title: 'PARTITION', of: ({ title }) => title, align: 'right' },
  { title: 'FIRST', of: ({ first }) => first ?? '-', align: 'right' },
  { title: 'LAST', of: ({ last }) => last ?? '-', align: 'right' },
  { title: 'OFFSETS', of: ({ offsets }) => offsets, align: 'right' },
  { title: 'RECORDS', of: ({ matched }) => amountText(matched), align: 'right' },
  { title: 'BYTES', of: ({ bytes }) => amountText(bytes), align: 'right' },
  { title: 'NOTE', of: noteOf },
];

function noteOf({ offsets, clamped, cutShort }: WindowRow): string {
  const notes = [...(clamped === '' ? [] : [`clamped: ${clamped}`]), ...(cutShort === '' ? [] : [cutShort])];
  return offsets === 0n && notes.length === 0 ? 'empty' : notes.join('; ');
}

/** Of a sum only the amounts are known. */
type HeldRow = Pick<FloorCost, 'oldestMs' | 'heldOffsets' | 'heldBytes' | 'moreOffsets' | 'moreBytes'> & {
  readonly title: string;
  readonly floor?: FloorCost;
};

const HELD_COLUMNS: readonly Column<HeldRow>[] = [
  { title: 'PARTITION', of: ({ title }) => title, align: 'right' },
  { title: 'FROM', of: ({ floor }) => floor?.offset ?? '', align: 'right' },
  { title: 'OLDEST', of: ({ oldestMs }) => instantOrNull(oldestMs) ?? '?' },
  { title: 'HELD', of: ({ heldOffsets }) => heldOffsets, align: 'right' },
  { title: '~BYTES', of: ({ heldBytes }) => heldBytes ?? '?', align: 'right' },
  { title: 'BY IT ALONE', of: ({ moreOffsets }) => moreOffsets ?? '?', align: 'right' },
  { title: '~BYTES', of: ({ moreBytes }) => moreBytes ?? '?', align: 'right' },
  { title: 'LOWEST FLOOR NOW', of: ({ floor }) => floorText(floor) },
  { title: 'ABOVE THE MARK', of: ({ floor }) => (floor === undefined ? '' : (floor.aboveMark ?? '?')), align: 'right' },
];

function floorText(floor: FloorCost | undefined): string {
  if (floor === undefined) return '';
  if (floor.lowestNow !== null) return `${floor.lowestNow.offset} (${floor.lowestNow.holder})`;
  return floor.mark === null ? '?' : 'none';
}

function amountText(amount: Amount | null): string {
  if (amount === null) return '?';
  return amount.isExact ? String(amount.value) : `~${amount.value}`;
}

function timeText(time: ExpectedTime): string {
  if (time.kind === 'unknown') return `unknown; ${time.reason}`;
  if (time.perSecond === 0) return time.source;
  return `about ${describeDuration(time.seconds * 1000)} at ${describeCount(time.perSecond)} records a second (${time.source})`;
}
