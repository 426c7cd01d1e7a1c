/**
 * A transaction that its coordinator takes for complete, and that is still open in some of its partitions. How it must
 * end there is decided by evidence alone, see the README ("Transactions that hang"). Pure.
 */
import {
  headerText,
  type LogRecord,
  type OngoingTransaction,
  type OutgoingRecord,
  type TransactionOutcome,
} from '@tidemark/log';

/** By topic and partition: the outbox position of the first row that a transaction wrote there. */
export type Touched = ReadonlyMap<string, ReadonlyMap<number, string>>;

/** The position record says what else is in its transaction. */
export const TOUCHED_HEADER = 'tm_touched';
const ROW_HEADER = 'tm_position';

export function touchedBy(records: readonly OutgoingRecord[]): Touched {
  const touched = new Map<string, Map<number, string>>();
  for (const record of records) {
    const { topic, partition } = record;
    if (partition === undefined) throw new Error(`a record for ${topic} names no partition`);
    const partitions = touched.get(topic) ?? new Map<number, string>();
    touched.set(topic, partitions);
    if (!partitions.has(partition)) partitions.set(partition, headerText(record, ROW_HEADER) ?? '');
  }
  return touched;
}

export function touchedText(touched: Touched): string {
  return JSON.stringify(Object.fromEntries([...touched].map(([topic, rows]) => [topic, Object.fromEntries(rows)])));
}

/** Undefined for a record of a program that did not say it. */
export function touchedOf(record: Pick<LogRecord, 'headers'>): Touched | undefined {
  const text = headerText(record, TOUCHED_HEADER);
  if (text === undefined) return undefined;
  const parsed = JSON.parse(text) as Readonly<Record<string, Readonly<Record<string, string>>>>;
  return new Map(
    Object.entries(parsed).map(([topic, rows]) => [
      topic,
      new Map(Object.entries(rows).map(([partition, row]) => [Number(partition), row])),
    ]),
  );
}

/** The outbox position of the record's row. */
export function rowOf(record: Partial<Pick<LogRecord, 'headers'>> | undefined): string | undefined {
  return headerText(record, ROW_HEADER);
}

/** A part of a transaction of ours that is open in one partition of events. */
export interface HangingPart {
  readonly ongoing: OngoingTransaction;
  /** Of the first record in it. */
  readonly row: string | undefined;
}

/** The newest position record that is committed, or, when one is held back, that one. */
export interface NewestPosition {
  readonly isHeldBack: boolean;
  readonly offset: bigint;
  readonly touched: Touched | undefined;
}

/** What is known of the transaction of the newest position record in a partition that it touched. */
export type PartEnd = TransactionOutcome | 'open' | 'not found';

/**
 * A settled commit is witnessed in the outbox before any of its rows is removed. So with a witness beyond the newest readable
 * position they may be gone, and without one they wait; but freeing parked keys moves no snapshot, and shows in no witness.
 */
export type RowsLeft = 'no' | 'perhaps' | 'yes';

export interface Evidence {
  /** What is open in the partition of positions. */
  readonly position: readonly OngoingTransaction[];
  readonly events: readonly HangingPart[];
  readonly newest: NewestPosition | undefined;
  /** One a touched partition of a record that is held back. */
  readonly ends: readonly PartEnd[];
  /** The outbox remembers that rows were published. */
  readonly wasPublished: boolean;
  /** Of a position that is held back: whether what it published may have left the outbox already. */
  readonly rowsLeft: RowsLeft;
}

export interface Ending {
  readonly ongoing: OngoingTransaction;
  readonly outcome: TransactionOutcome;
}

export type Verdict =
  /** In this order: the position first, so that whoever goes on after a crash finds the same verdict. */
  | { readonly kind: 'end'; readonly endings: readonly Ending[] }
  | { readonly kind: 'undecided'; readonly reason: string };

const NOTHING: Verdict = { kind: 'end', endings: [] };

export function verdictOn(evidence: Evidence): Verdict {
  const { position, events, newest } = evidence;
  if (position.length + events.length === 0) return NOTHING;
  if (position.length > 0) return onHeldBack(evidence);
  // Positions that were there once are lost: the relay says so and stops, and nothing is to be decided by what is missing.
  if (newest === undefined && evidence.wasPublished) return NOTHING;
  if (newest !== undefined && newest.touched === undefined) return undecided(NOT_TOLD);
  const endings = events.map((part): Ending => {
    const isOfNewest = part.row !== undefined && part.row === touchedRow(newest?.touched, part);
    return { ongoing: part.ongoing, outcome: isOfNewest ? 'commit' : 'abort' };
  });
  return { kind: 'end', endings };
}

/** The newest position and everything in its transaction have one fate, which may show in one of its partitions only. */
function onHeldBack({ position, events, newest, ends, rowsLeft }: Evidence): Verdict {
  const [held] = position;
  if (held === undefined || position.length > 1) return undecided('several transactions hang in the positions');
  if (newest === undefined || !newest.isHeldBack || newest.offset !== held.firstOffset)
    return undecided('what hangs in the positions is more than one record of this relay');
  if (newest.touched === undefined) return undecided(NOT_TOLD);
  const stranger = events.find((part) => part.row === undefined || part.row !== touchedRow(newest.touched, part));
  if (stranger !== undefined) return undecided('more than one transaction hangs');
  const found = new Set(ends);
  if (found.has('commit') && found.has('abort')) return undecided('it is committed here and aborted there');
  if (!found.has('commit') && !found.has('abort') && found.has('not found'))
    return undecided('of the partitions where it has ended, none shows how');
  if (rowsLeft === 'yes' && found.has('abort')) return undecided('it was settled once, and is aborted in a part');
  // Open everywhere: nobody has seen anything of it, and what it published waits in the outbox until it is settled. If it was,
  // a broker lost its markers afterwards (a crash of its machine), and an abort would lose its rows.
  const isOpenEverywhere = !found.has('commit') && !found.has('abort');
  if (isOpenEverywhere && rowsLeft === 'perhaps')
    return undecided('it is open everywhere and freed parked keys, whose rows may have left the outbox');
  const outcome = found.has('commit') || rowsLeft === 'yes' ? 'commit' : 'abort';
  return {
    kind: 'end',
    endings: [held, ...events.map(({ ongoing }) => ongoing)].map((ongoing) => ({ ongoing, outcome })),
  };
}

const NOT_TOLD = 'the newest position was written by a program that did not say what else was in its transaction';

function undecided(reason: string): Verdict {
  return { kind: 'undecided', reason };
}

function touchedRow(touched: Touched | undefined, { ongoing }: HangingPart): string | undefined {
  return touched?.get(ongoing.topic)?.get(ongoing.partition);
}
