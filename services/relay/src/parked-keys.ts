/**
 * Keys of which nothing is sent for now, because their first row cannot be. Later rows of such a key wait behind it: they
 * count as passed, stay in the outbox, and are read again from there. Pure; the set is a part of the position, so passing
 * rows and parking them is one Kafka transaction.
 */
import type { ParkedKey } from '@tidemark/contracts';
import type { KeyPart, OutboxRow } from '@tidemark/outbox';
import { PARKED_BYTES_MAX, PARKED_KEYS_MAX, PARKED_TEXT_MAX } from './limits.ts';

/** By `keyId`. */
export type ParkedKeys = ReadonlyMap<string, ParkedKey>;

export const NOTHING_PARKED: ParkedKeys = new Map();

type RowPlace = Pick<OutboxRow, 'topic' | 'key' | 'position'>;

/** A topic's name has no space. */
export function keyId({ topic, key }: Pick<RowPlace, 'topic' | 'key'>): string {
  return `${topic} ${key}`;
}

export function parkedKeysOf(keys: readonly ParkedKey[]): ParkedKeys {
  return new Map(keys.map((parked) => [keyId(parked), parked]));
}

/** A row below the first that waits is an earlier one, whose writer took no lock: nothing keeps it. */
export function waits(parked: ParkedKeys, row: RowPlace): boolean {
  if (parked.size === 0) return false;
  const first = parked.get(keyId(row));
  return first !== undefined && row.position >= first.position;
}

/** Why a row cannot be sent, and when that was found. */
export interface RowFault {
  readonly row: OutboxRow;
  readonly reason: string;
  readonly atMs: bigint;
}

export type ParkAnswer =
  | { readonly kind: 'parked'; readonly parked: ParkedKeys }
  | { readonly kind: 'no room'; readonly reason: string };

export function park(parked: ParkedKeys, fault: RowFault): ParkAnswer {
  if (parked.size >= PARKED_KEYS_MAX && !parked.has(keyId(fault.row)))
    return { kind: 'no room', reason: `${parked.size} keys are parked already, and more would not be remembered` };
  const key = entryOf(fault, fault.atMs);
  const after = new Map(parked).set(keyId(key), key);
  if (bytesOf(after) > PARKED_BYTES_MAX)
    return {
      kind: 'no room',
      reason: `with the ${parked.size} keys that are parked already, its key is too long to be remembered`,
    };
  return { kind: 'parked', parked: after };
}

/** What became of a page of rows that waited. */
export interface TriedPage {
  /** The keys whose rows the page is of. */
  readonly ids: readonly string[];
  /** By key: the first row that still cannot be sent. The rows before it are sent. */
  readonly faults: ReadonlyMap<string, RowFault>;
  /** Rows of the other keys up to here are sent. */
  readonly place: bigint;
  /** None waits above. */
  readonly isLast: boolean;
}

/** The set after the page: keys without waiting rows are free, of the others it says where they wait now. */
export function afterTry(parked: ParkedKeys, { ids, faults, place, isLast }: TriedPage): ParkedKeys {
  const after = new Map(parked);
  for (const id of ids) {
    const before = parked.get(id);
    if (before === undefined) continue;
    const fault = faults.get(id);
    if (fault !== undefined) after.set(id, entryOf(fault, before.parkedAtMs));
    else if (isLast) after.delete(id);
    else if (place >= before.position) after.set(id, { ...before, position: place + 1n });
  }
  return after;
}

export interface ParkedChanges {
  readonly parked: readonly ParkedKey[];
  readonly freed: readonly ParkedKey[];
  readonly triedInVain: readonly ParkedKey[];
  /** Where keys wait now and did not before: what is published there must be gone. */
  readonly waitsNewly: readonly KeyPart[];
}

export function changesOf(before: ParkedKeys, after: ParkedKeys): ParkedChanges {
  if (before === after) return { parked: [], freed: [], triedInVain: [], waitsNewly: [] };
  const entries = [...after];
  return {
    parked: entries.filter(([id]) => !before.has(id)).map(([, key]) => key),
    freed: [...before].filter(([id]) => !after.has(id)).map(([, key]) => key),
    triedInVain: entries
      .filter(([id, key]) => before.has(id) && before.get(id)?.triedAtMs !== key.triedAtMs)
      .map(([, key]) => key),
    waitsNewly: entries.flatMap(([id, { topic, key, position }]) => {
      const below = before.get(id)?.position ?? null;
      return below === null || position < below ? [{ topic, key, position, below }] : [];
    }),
  };
}

/** What waited before and waits no longer: it is published by now. */
export function releasedParts(before: ParkedKeys, after: ParkedKeys): readonly KeyPart[] {
  if (before === after) return [];
  return [...before].flatMap(([id, { topic, key, position }]) => {
    const below = after.get(id)?.position ?? null;
    return below === null || below > position ? [{ topic, key, position, below }] : [];
  });
}

function entryOf({ row, reason, atMs }: RowFault, parkedAtMs: bigint): ParkedKey {
  return {
    topic: row.topic,
    key: row.key,
    position: row.position,
    table: shortened(row.headers['tm_table'] ?? ''),
    type: shortened(row.type),
    bytes: BigInt(sizeOf(row)),
    reason: shortened(reason),
    parkedAtMs,
    triedAtMs: atMs,
  };
}

/** Of key and payload, as they stand in the outbox. */
export function sizeOf(row: Pick<OutboxRow, 'key' | 'payload'>): number {
  return Buffer.byteLength(row.key) + Buffer.byteLength(row.payload ?? '');
}

function shortened(text: string): string {
  return text.length > PARKED_TEXT_MAX ? `${text.slice(0, PARKED_TEXT_MAX)}…` : text;
}

/** What the texts take in the position record; the numbers beside them are small. */
function bytesOf(parked: ParkedKeys): number {
  let bytes = 0;
  for (const { topic, key, table, type, reason } of parked.values())
    for (const text of [topic, key, table, type, reason]) bytes += Buffer.byteLength(text);
  return bytes;
}
