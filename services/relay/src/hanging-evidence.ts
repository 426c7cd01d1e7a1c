/** What the logs say of transactions of ours that hang. */
import type { Codec } from '@tidemark/contracts';
import { toOffset } from '@tidemark/keyspace';
import type {
  LogCatalog,
  LogRecord,
  OngoingTransaction,
  PartitionName,
  TopicDescription,
  TransactionalProducer,
} from '@tidemark/log';
import { follows, type Snapshot } from '@tidemark/outbox';
import {
  type Evidence,
  type HangingPart,
  type PartEnd,
  type RowsLeft,
  rowOf,
  type Touched,
  touchedOf,
} from './hanging.ts';
import { CLOCKS_APART_MS, POSITION_TAIL, POSITION_TAIL_GROWTH } from './limits.ts';
import { NOTHING_PARKED, releasedParts } from './parked-keys.ts';
import { positionFromBytes, type StoredPosition } from './position-topic.ts';

/** A position record, and who wrote it. */
interface WrittenPosition extends TransactionalProducer {
  readonly record: LogRecord;
}

interface PositionTail {
  readonly committed: WrittenPosition | undefined;
  /** Neither committed nor aborted. */
  readonly heldBack: WrittenPosition | undefined;
}

export interface Found extends Evidence {
  /** Whose transactions are ours. */
  readonly producerIds: ReadonlySet<bigint>;
  /** Topics that were looked at. */
  readonly topics: readonly string[];
}

export async function findHanging(
  parts: { readonly catalog: LogCatalog; readonly codec: Codec },
  {
    positions,
    relay,
    producerId,
    witness,
  }: {
    readonly positions: TopicDescription;
    readonly relay: string;
    /** Of our transactional id, now. */
    readonly producerId: bigint | undefined;
    /** What the outbox remembers as published. */
    readonly witness: Snapshot | undefined;
  },
): Promise<Found> {
  const { catalog, codec } = parts;
  const tail = await newestPositions(catalog, positions, relay);
  const written = [tail.committed, tail.heldBack].filter((position) => position !== undefined);
  // An id that nobody used for a week gets another producer.
  const producerIds = new Set(written.map((position) => position.producerId));
  if (producerId !== undefined) producerIds.add(producerId);
  const topics = new Map<string, number>();
  for (const { record } of written) {
    if (record.value === null) continue;
    const { partitionCounts } = await positionFromBytes(codec, record.value);
    for (const [topic, count] of Object.entries(partitionCounts)) topics.set(topic, count);
  }
  const events = [...topics].flatMap(([topic, count]) => partitionsOf(topic, count));
  const ongoing = await catalog.transactions.ongoing([{ topic: positions.topic, partition: 0 }, ...events]);
  const ours = ongoing.filter((transaction) => producerIds.has(transaction.producerId));
  const isPosition = ({ topic }: PartitionName): boolean => topic === positions.topic;
  const position = ours.filter(isPosition);
  const newest = position.length > 0 ? tail.heldBack : tail.committed;
  const touched = newest === undefined ? undefined : touchedOf(newest.record);
  const hangs = ours.filter((transaction) => !isPosition(transaction));
  return {
    producerIds,
    topics: [...topics.keys()],
    position,
    events: await Promise.all(hangs.map((transaction) => partOf(catalog, transaction))),
    newest: newest && { isHeldBack: position.length > 0, offset: newest.record.offset, touched },
    ends: position.length === 0 || newest === undefined ? [] : await endsOf(catalog, { newest, touched, hangs }),
    wasPublished: witness !== undefined,
    rowsLeft: position.length === 0 ? 'no' : await rowsLeftOf(codec, tail, witness),
  };
}

async function rowsLeftOf(codec: Codec, tail: PositionTail, witness: Snapshot | undefined): Promise<RowsLeft> {
  if (witness === undefined) return 'no';
  const [committed, heldBack] = await Promise.all([storedIn(codec, tail.committed), storedIn(codec, tail.heldBack)]);
  if (committed === undefined || !follows(witness, committed.position.snapshot)) return 'yes';
  const parked = heldBack?.parked ?? NOTHING_PARKED;
  return releasedParts(committed.parked, parked).length > 0 ? 'perhaps' : 'no';
}

async function storedIn(codec: Codec, written: WrittenPosition | undefined): Promise<StoredPosition | undefined> {
  const value = written?.record.value;
  return value == null ? undefined : await positionFromBytes(codec, value);
}

function partitionsOf(topic: string, count: number): readonly PartitionName[] {
  return Array.from({ length: count }, (_, partition) => ({ topic, partition }));
}

/** Read from the end, further and further back until a committed one is found. */
async function newestPositions(catalog: LogCatalog, topic: TopicDescription, relay: string): Promise<PositionTail> {
  const [offsets] = await catalog.offsets(topic);
  if (offsets === undefined) return { committed: undefined, heldBack: undefined };
  const { logStartOffset, highWatermark } = offsets;
  for (let span = POSITION_TAIL; ; span *= POSITION_TAIL_GROWTH) {
    const from = highWatermark - logStartOffset > span ? highWatermark - span : logStartOffset;
    const tail = await readPositions(catalog, topic, { relay, from });
    if (tail.committed !== undefined || from === logStartOffset) return tail;
  }
}

async function readPositions(
  { transactions }: LogCatalog,
  { topic, topicId }: TopicDescription,
  { relay, from }: { readonly relay: string; readonly from: bigint },
): Promise<PositionTail> {
  const open = new Map<bigint, WrittenPosition>();
  let committed: WrittenPosition | undefined;
  for await (const entry of transactions.entries({ topic, topicId, partition: 0 }, toOffset(from))) {
    const { producerId, producerEpoch } = entry;
    if (entry.kind === 'data') {
      const record = entry.records.findLast(({ key }) => key?.toString() === relay);
      if (record !== undefined) open.set(producerId, { record, producerId, producerEpoch });
      if (entry.transactional) continue;
    }
    const ended = open.get(producerId);
    open.delete(producerId);
    if (ended !== undefined && (entry.kind === 'data' || entry.outcome === 'commit')) committed = ended;
  }
  return { committed, heldBack: [...open.values()].at(-1) };
}

async function partOf(catalog: LogCatalog, ongoing: OngoingTransaction): Promise<HangingPart> {
  const { topic, partition, firstOffset } = ongoing;
  const described = await catalog.describe(topic);
  if (described === undefined) return { ongoing, row: undefined };
  const source = { topic, topicId: described.topicId, partition };
  for await (const entry of catalog.transactions.entries(source, firstOffset)) {
    return { ongoing, row: entry.kind === 'data' ? rowOf(entry.records[0]) : undefined };
  }
  return { ongoing, row: undefined };
}

/** How the transaction of a position that is held back has ended where it has. */
async function endsOf(
  catalog: LogCatalog,
  {
    newest,
    touched = new Map(),
    hangs,
  }: {
    readonly newest: WrittenPosition;
    readonly touched: Touched | undefined;
    readonly hangs: readonly OngoingTransaction[];
  },
): Promise<readonly PartEnd[]> {
  const ends: PartEnd[] = [];
  for (const [topic, rows] of touched) {
    for (const [partition, row] of rows) {
      const isOpen = hangs.some((part) => part.topic === topic && part.partition === partition);
      ends.push(isOpen ? 'open' : await endIn(catalog, { topic, partition }, { newest, row }));
    }
  }
  return ends;
}

/**
 * The marker behind that very row, as that very session wrote it. A marker alone would prove nothing: the transaction may
 * never have reached this partition, and then the newest marker here is an older one's.
 */
async function endIn(
  catalog: LogCatalog,
  { topic, partition }: PartitionName,
  { newest, row }: { readonly newest: WrittenPosition; readonly row: string },
): Promise<PartEnd> {
  const described = await catalog.describe(topic);
  if (described === undefined) return 'not found';
  const from = (await catalog.offsetsAt(described, newest.record.timestampMs - CLOCKS_APART_MS))[partition];
  if (from === undefined) return 'not found';
  let isThere = false;
  for await (const entry of catalog.transactions.entries({ topic, topicId: described.topicId, partition }, from)) {
    if (entry.producerId !== newest.producerId) continue;
    if (entry.kind === 'marker') {
      if (isThere) return entry.outcome;
    } else if (entry.producerEpoch === newest.producerEpoch) {
      isThere ||= entry.records.some((record) => rowOf(record) === row);
    }
  }
  return 'not found';
}
