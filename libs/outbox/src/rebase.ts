/**
 * What becomes of the rows of an outbox whose position says nothing any more. Transaction ids do not tell which of them
 * are published: a restored row names one of another cluster, and after a lost commit an id may have been given out
 * again. What tells is the event's id, looked for in the row's topic. Pure.
 */
import { type Fitting, PARTITIONER, type PositionFit, type TopicMove } from './fit.ts';

export interface RebaseRow {
  readonly position: bigint;
  readonly id: string;
  readonly topic: string;
  readonly key: string;
  readonly occurredAtMs: bigint;
}

export const RowFate = {
  /** Its event is in the topic. */
  published: 'published',
  /** Its event is gone from the topic, but a later row of its key is there: it went before. */
  superseded: 'superseded',
  /** It is not in the topic, and nothing was taken from there that may have been it. */
  unpublished: 'unpublished',
  /** It is not there, but compaction or retention took records that may have been it. */
  unknown: 'unknown',
} as const;
export type RowFate = (typeof RowFate)[keyof typeof RowFate];

export interface Evidence {
  /** Ids of events that are in the topics. */
  readonly found: ReadonlySet<string>;
  /** By topic: what is of rows that are not newer than this may have been taken from there. Nothing was, where it is not named. */
  readonly takenUpToMs: ReadonlyMap<string, bigint>;
}

/** One fate a row; the rows are in the order of position. */
export function fatesOf(rows: readonly RebaseRow[], { found, takenUpToMs }: Evidence): readonly RowFate[] {
  const laterIsThere = new Set<string>();
  return rows
    .toReversed()
    .map(({ id, topic, key, occurredAtMs }): RowFate => {
      const name = `${topic} ${key}`;
      if (found.has(id)) {
        laterIsThere.add(name);
        return RowFate.published;
      }
      const takenMs = takenUpToMs.get(topic);
      if (takenMs === undefined || occurredAtMs > takenMs) return RowFate.unpublished;
      return laterIsThere.has(name) ? RowFate.superseded : RowFate.unknown;
    })
    .toReversed();
}

export type FateCounts = Readonly<Record<RowFate, number>>;

export interface TopicFates extends FateCounts {
  readonly topic: string;
  readonly isWhole: boolean;
}

export function countFates(
  rows: readonly RebaseRow[],
  fates: readonly RowFate[],
  { takenUpToMs }: Pick<Evidence, 'takenUpToMs'>,
): readonly TopicFates[] {
  const counts = new Map<string, Record<RowFate, number>>();
  for (const [index, { topic }] of rows.entries()) {
    const fate = fates[index] ?? RowFate.unknown;
    const count = counts.get(topic) ?? { published: 0, superseded: 0, unpublished: 0, unknown: 0 };
    count[fate] += 1;
    counts.set(topic, count);
  }
  return [...counts].map(([topic, count]) => ({ topic, ...count, isWhole: !takenUpToMs.has(topic) }));
}

export function sumFates(topics: readonly FateCounts[]): FateCounts {
  const sum = { published: 0, superseded: 0, unpublished: 0, unknown: 0 };
  for (const topic of topics) for (const fate of Object.values(RowFate)) sum[fate] += topic[fate];
  return sum;
}

/** What is to be done about rows of which nothing tells whether they are published. */
export const UnknownRows = { send: 'send', skip: 'skip' } as const;
export type UnknownRows = (typeof UnknownRows)[keyof typeof UnknownRows];

export interface Consents {
  /** Keys may go to other partitions than before. */
  readonly movedKeys: boolean;
  readonly unknownRows: UnknownRows | undefined;
}

/** The rows that leave the outbox without being sent. */
export function skippedRows(
  rows: readonly RebaseRow[],
  fates: readonly RowFate[],
  unknownRows: UnknownRows | undefined,
): readonly bigint[] {
  const isSkipped = (fate: RowFate | undefined) =>
    fate === RowFate.published ||
    fate === RowFate.superseded ||
    (fate === RowFate.unknown && unknownRows === UnknownRows.skip);
  return rows.flatMap(({ position }, index) => (isSkipped(fates[index]) ? [position] : []));
}

export interface RebasePlan {
  /** The rows are compared with the topics, and the position begins anew. */
  readonly isNewPosition: boolean;
  readonly movesKeys: boolean;
  /** What a person must decide first, and the option that says so. */
  readonly obstacles: readonly Obstacle[];
}

export interface Obstacle {
  readonly option: string;
  readonly message: string;
}

export function planRebase(
  { fit, moves, partitioner }: Fitting,
  facts: { readonly unknown: number; readonly isAsked: boolean },
  consents: Consents,
): RebasePlan {
  const isNewPosition = needsComparing(fit) || facts.isAsked;
  const movesKeys = moves.length > 0 || (partitioner !== undefined && partitioner !== PARTITIONER);
  const obstacles: Obstacle[] = [];
  if (movesKeys && !consents.movedKeys)
    obstacles.push({
      option: '--accept-partitions',
      message: 'keys go to other partitions, so that their order holds only within each partition: accept that',
    });
  if (isNewPosition && facts.unknown > 0 && consents.unknownRows === undefined)
    obstacles.push({
      option: '--unknown send|skip',
      message: `of ${facts.unknown} rows nothing tells whether they are published: sent they may be repeated, skipped they may be lost`,
    });
  return { isNewPosition, movesKeys, obstacles };
}

export function needsComparing({ kind }: PositionFit): boolean {
  return kind === 'foreign' || kind === 'lost';
}

/** The counts of a position that accepts the moves. */
export function acceptedCounts(
  published: Readonly<Record<string, number>>,
  moves: readonly TopicMove[],
): Readonly<Record<string, number>> {
  return { ...published, ...Object.fromEntries(moves.map(({ topic, to }) => [topic, to])) };
}
