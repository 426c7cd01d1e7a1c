/**
 * The parked records of a held range, as its owner knows them: what the store answered after the lease, and what this
 * owner parked, settled and parked again since. It decides what may be tried now.
 *
 * Under ordering `key` the records of one key are tried in the order of their offsets: one that is not due, or failed
 * again, keeps all later ones of its key waiting. Records without a key hash wait for nobody.
 */
import type { ParkedRecord, Parking } from '@tidemark/cursors';
import type { Offset } from '@tidemark/keyspace';

export interface ParkedEntry extends Omit<ParkedRecord, 'dueAtMs'> {
  /** On the monotonic clock of this process. */
  readonly dueMs: number;
  /** The store knows it: the move that passes it was accepted. Before that it can be neither tried nor settled. */
  readonly stored: boolean;
}

export class ParkedSet {
  readonly #entries = new Map<Offset, ParkedEntry>();
  /** How many records each key hash keeps waiting. */
  readonly #keys = new Map<string, number>();
  #storedCount = 0;
  /** Nothing is due before it, unless something changes. */
  #quietUntilMs = 0;

  get size(): number {
    return this.#entries.size;
  }

  get storedCount(): number {
    return this.#storedCount;
  }

  /** Ascending; those that the store knows. */
  storedOffsets(): readonly Offset[] {
    return this.#inOrder().flatMap(({ offset, stored }) => (stored ? [offset] : []));
  }

  /** A later record of this key must wait. */
  holdsKey(keyHash: string): boolean {
    return keyHash !== '' && this.#keys.has(keyHash);
  }

  /** What the store holds. */
  load(records: readonly (Omit<ParkedRecord, 'dueAtMs'> & { readonly dueInMs: number })[], nowMs: number): void {
    for (const { dueInMs, ...record } of records) this.#put({ ...record, dueMs: nowMs + dueInMs, stored: true });
  }

  /** Parked by this owner; `moved` says when the store has it. */
  park({ delayMs, ...record }: Parking, nowMs: number): void {
    this.#put({ ...record, dueMs: nowMs + delayMs, stored: false });
  }

  /** The store has accepted the move that passes these. */
  moved(parkings: readonly Parking[]): void {
    for (const { offset } of parkings) {
      const entry = this.#entries.get(offset);
      if (entry !== undefined) this.#put({ ...entry, stored: true });
    }
  }

  /** The store has accepted how these ended, and that the others wait again. */
  settled(settled: readonly Offset[], again: readonly Parking[], nowMs: number): void {
    for (const offset of settled) this.#drop(offset);
    for (const { delayMs, ...record } of again) this.#put({ ...record, dueMs: nowMs + delayMs, stored: true });
  }

  /** In offset order, at most `limit`: those that are due and wait for no earlier one that is not among them. */
  due(nowMs: number, limit: number): readonly ParkedEntry[] {
    const due: ParkedEntry[] = [];
    if (this.#storedCount === 0 || nowMs < this.#quietUntilMs) return due;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const entry of this.#ready(nowMs)) {
      if (due.length === limit) break;
      if (entry.dueMs <= nowMs) due.push(entry);
      else nextMs = Math.min(nextMs, entry.dueMs);
    }
    if (due.length === 0) this.#quietUntilMs = nextMs;
    return due;
  }

  /** How long from now until something is due; undefined when nothing can be. */
  dueInMs(nowMs: number): number | undefined {
    let firstMs: number | undefined;
    for (const { dueMs } of this.#ready(nowMs)) firstMs = Math.min(firstMs ?? dueMs, dueMs);
    return firstMs === undefined ? undefined : Math.max(0, firstMs - nowMs);
  }

  /** In offset order; of each key up to the first that is not due. */
  *#ready(nowMs: number): Iterable<ParkedEntry> {
    const waiting = new Set<string>();
    for (const entry of this.#inOrder()) {
      const { keyHash } = entry;
      if (keyHash !== '' && waiting.has(keyHash)) continue;
      if (keyHash !== '' && (!entry.stored || entry.dueMs > nowMs)) waiting.add(keyHash);
      if (entry.stored) yield entry;
    }
  }

  #inOrder(): readonly ParkedEntry[] {
    return [...this.#entries.values()].sort((a, b) => (a.offset < b.offset ? -1 : 1));
  }

  #put(entry: ParkedEntry): void {
    this.#drop(entry.offset);
    this.#quietUntilMs = 0;
    this.#entries.set(entry.offset, entry);
    if (entry.stored) this.#storedCount += 1;
    if (entry.keyHash !== '') this.#keys.set(entry.keyHash, (this.#keys.get(entry.keyHash) ?? 0) + 1);
  }

  #drop(offset: Offset): void {
    const entry = this.#entries.get(offset);
    if (entry === undefined) return;
    this.#quietUntilMs = 0;
    this.#entries.delete(offset);
    if (entry.stored) this.#storedCount -= 1;
    const waiting = (this.#keys.get(entry.keyHash) ?? 0) - 1;
    if (waiting > 0) this.#keys.set(entry.keyHash, waiting);
    else this.#keys.delete(entry.keyHash);
  }
}
