/** What a planned window holds, takes and keeps, before anything is asked for: read from the log and the store, written nowhere. */
import type { FloorLook, FloorStore } from '@tidemark/cursors';
import { belongingTo, type ResolvedPartition } from '@tidemark/jobs';
import { isEmpty, windowSize } from '@tidemark/keyspace';
import type { LogCluster, LogRecord, TopicDescription } from '@tidemark/log';
import { type FloorCost, floorCostOf } from './floor-cost.ts';
import { type Amount, type Measure, measureWindow } from './measure-window.ts';
import type { PlannedWindow } from './plan-window.ts';

/** Floors are worth a look, and no reason to fail: without the store a window is planned all the same. */
export type FloorSight =
  | { readonly kind: 'known'; readonly floors: Pick<FloorStore, 'look'> }
  | { readonly kind: 'unknown'; readonly reason: string };

export interface PreviewedPartition extends ResolvedPartition {
  /** What is scanned, records or not. */
  readonly offsets: bigint;
  readonly matched: Measure['matched'];
  readonly bytes: Measure['bytes'];
  readonly cutShort: string;
  /** Null for an empty window, which holds nothing. */
  readonly floor: FloorCost | null;
}

export interface PreviewSum {
  readonly offsets: bigint;
  readonly matched: Amount | null;
  readonly bytes: Amount | null;
  /** Over all floors; null as soon as one is not known. */
  readonly heldOffsets: bigint;
  readonly heldBytes: bigint | null;
  readonly moreOffsets: bigint | null;
  readonly moreBytes: bigint | null;
  /** Epoch ms, of the oldest first record. */
  readonly oldestMs: bigint | null;
}

export interface WindowPreview {
  readonly topic: TopicDescription;
  readonly partitions: readonly PreviewedPartition[];
  readonly sum: PreviewSum;
  /** Why it is not known who else holds the log; '' when it is. */
  readonly floorsUnknown: string;
}

export interface PreviewOptions {
  readonly floors: FloorSight;
  /** Read the whole window instead of a few places. */
  readonly count?: boolean;
  readonly nowMs: number;
  readonly signal?: AbortSignal;
}

/** Creates nothing: no topic, no group, no reservation. Throws as the reader and the store do. */
export async function previewWindow(
  cluster: Pick<LogCluster, 'catalog' | 'openReader'>,
  plan: PlannedWindow,
  options: PreviewOptions,
): Promise<WindowPreview> {
  const { topic, spec } = plan;
  const tooLate = spec.to.kind === 'instant' ? await cluster.catalog.offsetsAt(topic, BigInt(spec.to.ms)) : undefined;
  const looks = await looksAt(plan, options.floors);
  const reader = cluster.openReader();
  try {
    const partitions: PreviewedPartition[] = [];
    for (const window of plan.partitions) {
      const { partition, highWatermark } = window;
      const measure = await measureWindow(reader, { ...sourceOf(topic), partition }, window, {
        belongs: inTime(plan),
        firstTooLate: tooLate && (tooLate[partition] ?? highWatermark),
        count: options.count ?? false,
        ...(options.signal && { signal: options.signal }),
      });
      partitions.push(previewOf(window, measure, { look: looks.get(partition), nowMs: options.nowMs }));
    }
    return { topic, partitions, sum: sumOf(partitions), floorsUnknown: unknownFloors(plan, options.floors, looks) };
  } finally {
    await reader.close();
  }
}

/** The rule of the worker, for the times of the window alone. */
export function inTime({ spec: { from, to } }: Pick<PlannedWindow, 'spec'>): (record: LogRecord) => boolean {
  const fromMs = from.kind === 'instant' ? from.ms : null;
  const toMs = to.kind === 'instant' ? to.ms : null;
  return belongingTo({ topic: '', fromMs, toMs, parameters: {} }) ?? (() => true);
}

async function looksAt(plan: PlannedWindow, sight: FloorSight): Promise<ReadonlyMap<number, FloorLook>> {
  const looks = new Map<number, FloorLook>();
  if (sight.kind === 'unknown') return looks;
  for (const { partition } of plan.partitions) {
    const look = await sight.floors.look({ ...sourceOf(plan.topic), partition });
    if (look !== undefined) looks.set(partition, look);
  }
  return looks;
}

function unknownFloors(
  { partitions }: PlannedWindow,
  sight: FloorSight,
  looks: ReadonlyMap<number, FloorLook>,
): string {
  if (sight.kind === 'unknown') return sight.reason;
  if (partitions.every((window) => isEmpty(window) || looks.has(window.partition))) return '';
  return 'the store does not hold them yet: a distributor fills it when a job first needs the topic, and until then nothing is cut';
}

function previewOf(
  window: ResolvedPartition,
  { matched, bytes, bytesPerOffset, oldestMs, cutShort }: Measure,
  { look, nowMs }: { readonly look: FloorLook | undefined; readonly nowMs: number },
): PreviewedPartition {
  const { highWatermark } = window;
  const floor = isEmpty(window) ? null : floorCostOf({ window, highWatermark, bytesPerOffset, oldestMs, look, nowMs });
  return { ...window, offsets: windowSize(window), matched, bytes, cutShort, floor };
}

function sumOf(partitions: readonly PreviewedPartition[]): PreviewSum {
  const floors = partitions.flatMap(({ floor }) => (floor === null ? [] : [floor]));
  const times = floors.flatMap(({ oldestMs }) => (oldestMs === null ? [] : [oldestMs]));
  return {
    offsets: partitions.reduce((sum, { offsets }) => sum + offsets, 0n),
    matched: sumOfAmounts(partitions.map(({ matched }) => matched)),
    bytes: sumOfAmounts(partitions.map(({ bytes }) => bytes)),
    heldOffsets: floors.reduce((sum, { heldOffsets }) => sum + heldOffsets, 0n),
    heldBytes: sumOfKnown(floors.map(({ heldBytes }) => heldBytes)),
    moreOffsets: sumOfKnown(floors.map(({ moreOffsets }) => moreOffsets)),
    moreBytes: sumOfKnown(floors.map(({ moreBytes }) => moreBytes)),
    oldestMs: times.reduce<bigint | null>((oldest, at) => (oldest === null || at < oldest ? at : oldest), null),
  };
}

function sumOfAmounts(amounts: readonly (Amount | null)[]): Amount | null {
  const value = sumOfKnown(amounts.map((amount) => amount?.value ?? null));
  return value === null ? null : { value, isExact: amounts.every((amount) => amount?.isExact === true) };
}

/** One that is not known makes the sum unknown: a part of it would look like all of it. */
function sumOfKnown(values: readonly (bigint | null)[]): bigint | null {
  let sum = 0n;
  for (const value of values) {
    if (value === null) return null;
    sum += value;
  }
  return sum;
}

function sourceOf({ topic, topicId }: TopicDescription): { readonly topic: string; readonly topicId: string } {
  return { topic, topicId };
}
