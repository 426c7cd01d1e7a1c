/**
 * The reading side of one slot: at most one read at a time, and at most one chunk read ahead while the one before it is
 * handled. A failed read is kept as a result, because nobody may be waiting when it fails.
 */
import type { Offset } from '@tidemark/keyspace';
import type { LogReader, ReadAnswer, Source } from '@tidemark/log';
import { READ_WAIT_MS } from '../limits.ts';

export type ReadResult =
  | { readonly kind: 'answer'; readonly answer: ReadAnswer }
  | { readonly kind: 'failed'; readonly error: unknown };

export interface ReadLimits {
  readonly recordsMax: number;
  readonly bytesMax: number;
}

export class ReadAhead {
  readonly #reader: LogReader;
  readonly #source: Source;
  readonly #limits: ReadLimits;
  readonly #abort = new AbortController();
  #pending: { readonly cursor: Offset; readonly end: Offset; readonly result: Promise<ReadResult> } | undefined;

  constructor(reader: LogReader, source: Source, limits: ReadLimits) {
    this.#reader = reader;
    this.#source = source;
    this.#limits = limits;
  }

  /** Starts to read behind `cursor`, unless nothing of the range is left there. */
  start(cursor: Offset, end: Offset): void {
    if (this.#pending !== undefined || cursor >= end) return;
    this.#pending = { cursor, end, result: this.#read(cursor, end) };
  }

  /** The chunk behind `cursor`: the one read ahead if it is that one, else read now. */
  async next(cursor: Offset, end: Offset): Promise<ReadResult> {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending === undefined) return await this.#read(cursor, end);
    const result = await pending.result;
    // A range that ends lower by now is clipped later; another cursor means the chunk before it was cut short.
    return pending.cursor === cursor ? result : await this.#read(cursor, end);
  }

  /** Ends a read that waits, and every further one at once. */
  interrupt(): void {
    this.#abort.abort();
  }

  /** Resolves when no read is on its way: the reader may then be used for another range. */
  async cancel(): Promise<void> {
    this.#abort.abort();
    await this.#pending?.result;
    this.#pending = undefined;
  }

  async #read(cursor: Offset, end: Offset): Promise<ReadResult> {
    const { recordsMax, bytesMax } = this.#limits;
    try {
      const answer = await this.#reader.read({
        source: this.#source,
        cursor,
        end,
        recordsMax,
        bytesMax,
        waitMs: READ_WAIT_MS,
        signal: this.#abort.signal,
      });
      return { kind: 'answer', answer };
    } catch (error) {
      return { kind: 'failed', error };
    }
  }
}
