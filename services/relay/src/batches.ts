/**
 * From windows of the outbox to batches that are one Kafka transaction each: rows up to the limits, and the position
 * after them. A row that cannot be sent parks its key, and the later rows of the key wait behind it (parked-keys.ts).
 * Where that cannot be, because it is the topic's fault or nothing more can be remembered, the row ends the batch before
 * it, so that everything up to it is published first.
 */
import { assertNever, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { OutgoingRecord } from '@tidemark/log';
import {
  type OutboxPosition,
  type OutboxReader,
  type OutboxRow,
  type Page,
  positionAfter,
  type SnapshotWindow,
  sameDatabase,
  type TakenSnapshot,
} from '@tidemark/outbox';
import { unsendable } from './errors.ts';
import { BATCH_BYTES_MAX, BATCH_ROWS_MAX } from './limits.ts';
import { type ParkedKeys, park, waits } from './parked-keys.ts';
import { type SendingParts, tryRow } from './sendable.ts';

/** What is published: everything up to the position, but for the rows that wait. */
export interface Progress {
  readonly position: OutboxPosition;
  readonly parked: ParkedKeys;
}

export interface Batch {
  /** The rows that the progress passes: sent, or kept for later. */
  readonly passed: readonly OutboxRow[];
  readonly sent: readonly OutboxRow[];
  /** Of the sent rows, one each. */
  readonly records: readonly OutgoingRecord[];
  /** To be committed with the records. */
  readonly progress: Progress;
}

export interface WindowBatch extends Batch {
  /** Must be safe from a crash before the batch is committed; undefined when an earlier commit depended on it already. */
  readonly dependsOn: TakenSnapshot | undefined;
  /** The window goes on: its next batch can be read while this one is committed. */
  readonly hasMore: boolean;
}

export interface BatchSource extends SendingParts {
  readonly reader: OutboxReader;
}

/** What is visible now and was not at the position. Ends when the window is read to its end; an empty last batch says so. */
export async function* batchesOfWindow(
  source: BatchSource,
  start: Progress,
): AsyncGenerator<WindowBatch, void, undefined> {
  const { reader } = source;
  const { taken, isNew } = await snapshotFor(reader, start.position);
  const window = { after: start.position.snapshot, upTo: taken.snapshot };
  const dependsOn = isNew ? taken : undefined;
  let parked = start.parked;
  for await (const page of pagesOf(reader, window, start.position.window?.place ?? 0n))
    parked = yield* batchesOfPage(source, { position: start.position, parked }, { taken, page, dependsOn });
}

/** The next page is read while one is encoded. */
async function* pagesOf(reader: OutboxReader, window: SnapshotWindow, place: bigint): AsyncGenerator<Page> {
  const read = (from: bigint) => reader.readPage(window, from, { rowsMax: BATCH_ROWS_MAX, bytesMax: BATCH_BYTES_MAX });
  let reading = read(place);
  for (;;) {
    const page = await reading;
    if (!page.isLast) {
      reading = read(page.place);
      // Its failure belongs to the next round, and must not count as unhandled until then.
      reading.catch(() => {});
    }
    yield page;
    if (page.isLast) return;
  }
}

/** A window that was begun by this relay or one before it is finished first. */
async function snapshotFor(
  reader: OutboxReader,
  start: OutboxPosition,
): Promise<{ readonly taken: TakenSnapshot; readonly isNew: boolean }> {
  const { window, walInsertLsn, identity } = start;
  if (window !== undefined) return { taken: { snapshot: window.upTo, walInsertLsn, identity }, isNew: false };
  const taken = await reader.takeSnapshot(start.snapshot);
  if (sameDatabase(taken.identity, identity)) return { taken, isNew: true };
  throw new TidemarkError({
    code: 'DATABASE_CHANGED',
    class: ErrorClass.transient,
    message: `another database answers: ${taken.identity.systemIdentifier} on timeline ${taken.identity.timeline} instead of ${identity.systemIdentifier} on ${identity.timeline}`,
  });
}

/** Returns what is parked after the page. */
async function* batchesOfPage(
  source: BatchSource,
  start: Progress,
  {
    taken,
    page,
    dependsOn,
  }: { readonly taken: TakenSnapshot; readonly page: Page; readonly dependsOn: TakenSnapshot | undefined },
): AsyncGenerator<WindowBatch, ParkedKeys, undefined> {
  let { parked } = start;
  let done = 0;
  while (done < page.rows.length) {
    const prefix = await passablePrefix(source, parked, page.rows.slice(done));
    const { passed, sent, records, fault } = prefix;
    if (passed.length === 0) throw fault ?? new Error('a batch without rows needs a fault');
    parked = prefix.parked;
    done += passed.length;
    const isLast = page.isLast && done === page.rows.length;
    const place = passed.at(-1)?.position ?? page.place;
    const position = positionAfter(start.position, taken, { place, isLast });
    yield { passed, sent, records, progress: { position, parked }, dependsOn, hasMore: !isLast };
  }
  if (page.rows.length === 0 && page.isLast) {
    const position = positionAfter(start.position, taken, page);
    yield { passed: [], sent: [], records: [], progress: { position, parked }, dependsOn, hasMore: false };
  }
  return parked;
}

interface Prefix {
  readonly passed: readonly OutboxRow[];
  readonly sent: readonly OutboxRow[];
  readonly records: readonly OutgoingRecord[];
  readonly parked: ParkedKeys;
  /** Why it ends before the page does. */
  readonly fault?: TidemarkError;
}

async function passablePrefix(source: BatchSource, start: ParkedKeys, page: readonly OutboxRow[]): Promise<Prefix> {
  const together = page.slice(0, source.suspects.prefix(page));
  const sent: OutboxRow[] = [];
  const records: OutgoingRecord[] = [];
  let parked = start;
  for (const [index, row] of together.entries()) {
    if (waits(parked, row)) continue;
    const endWith = (reason: string): Prefix => {
      return { passed: together.slice(0, index), sent, records, parked, fault: unsendable(row, reason) };
    };
    const answer = tryRow(source, row);
    const tried = answer instanceof Promise ? await answer : answer;
    switch (tried.kind) {
      case 'record':
        sent.push(row);
        records.push(tried.record);
        break;
      case 'topic fault':
        return endWith(tried.reason);
      case 'row fault': {
        const room = park(parked, { row, reason: tried.reason, atMs: BigInt(Date.now()) });
        if (room.kind === 'no room') return endWith(`${tried.reason}; ${room.reason}`);
        parked = room.parked;
        break;
      }
      default:
        return assertNever(tried);
    }
  }
  return { passed: together, sent, records, parked };
}
