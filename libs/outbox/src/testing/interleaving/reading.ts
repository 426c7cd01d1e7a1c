/**
 * A reader that goes in random steps and crashes between them. What Kafka would hold, the delivered rows and the position
 * after them, changes in one step, and only that outlives a crash.
 */
import { ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import type { Chance } from '@tidemark/testkit/chance';
import { openPostgresOutbox } from '../../adapters/postgres/index.ts';
import type { OutboxReader, Page, PageLimits } from '../../ports.ts';
import { type OutboxPosition, positionAfter, startPosition, type TakenSnapshot } from '../../position.ts';
import type { OutboxRow } from '../../row.ts';
import { NOTHING_VISIBLE, type Snapshot, type SnapshotWindow } from '../../snapshot.ts';
import { positionOfRecord, recordFieldsOf } from '../../stored-position.ts';
import type { Delivered, Delivery, Scene } from './delivery.ts';
import { PAGE_ROWS_MAX, READER_PAUSE_MS_MAX, READER_RETRY_MS } from './limits.ts';
import type { Fault } from './verdict.ts';

/** The reader alone, and a log in memory. */
export const BY_READER: Delivery = {
  async start(scene) {
    const opened = openReader(scene);
    // Before anybody writes.
    const { identity } = await opened.reader.state();
    return { delivered: readToTheEnd(scene, opened, startPosition(identity)).then(deliveredOf) };
  },
};

interface OpenedReader {
  readonly reader: OutboxReader;
  close(): Promise<void>;
}

function openReader({ outbox, plant }: Scene): OpenedReader {
  const { url, namespace, schema, client } = outbox;
  const opened = openPostgresOutbox({ url, namespace, relay: 'main', owner: 'interleaving' });
  return {
    reader: plant?.reader?.(opened.reader, client, schema) ?? opened.reader,
    close: () => opened.close(),
  };
}

interface Log {
  readonly rows: OutboxRow[];
  position: OutboxPosition;
  crashes: number;
  windows: number;
  /** Only what became visible since is looked through; a crash may bring back what was removed. */
  cleaned: Snapshot;
  readonly faults: Fault[];
}

function deliveredOf({ rows, faults, windows, crashes }: Log): Delivered {
  return {
    rows: rows.map(({ id, topic, key, payload }, place) => ({ id, topic, key, payload, place })),
    faults,
    happened: { windows, readerCrashes: crashes },
  };
}

type Ending = 'read to its end' | 'crashed';

async function readToTheEnd(scene: Scene, first: OpenedReader, position: OutboxPosition): Promise<Log> {
  const { chance, serverCrashes } = scene;
  let opened = first;
  try {
    const log: Log = { rows: [], position, crashes: 0, windows: 0, cleaned: NOTHING_VISIBLE, faults: [] };
    for (;;) {
      // A window that was begun has an older snapshot, which does not see everything.
      const seesEverything = scene.isOver() && log.position.window === undefined;
      const ending = await readOn(opened.reader, log, chance).catch((error: unknown): Ending => {
        if (!(serverCrashes ? passesBy(error) : isLost(error))) throw error;
        return 'crashed';
      });
      if (ending === 'crashed') {
        log.crashes += 1;
        log.cleaned = NOTHING_VISIBLE;
        if (serverCrashes) await sleep(READER_RETRY_MS);
        // Another process, or the same one with a new session: what a reader remembers must not matter.
        if (chance.oneIn(2)) {
          await opened.close();
          opened = openReader(scene);
        }
        // As it comes back from the record in Kafka.
        log.position = positionOfRecord(recordFieldsOf(log.position));
        continue;
      }
      if (seesEverything) return log;
      await sleep(chance.below(READER_PAUSE_MS_MAX + 1));
    }
  } finally {
    await opened.close();
  }
}

/** The server is away, or has been. */
function passesBy(error: unknown): boolean {
  if (!(error instanceof TidemarkError)) return false;
  return error.class === ErrorClass.transient || error.class === ErrorClass.unavailable;
}

/** A process that stands still gives its connections up, as one does whose server is away. */
function isLost(error: unknown): boolean {
  return error instanceof TidemarkError && LOST_CODES.includes(error.code);
}

const LOST_CODES = ['POSTGRES_UNAVAILABLE', 'CONNECTION_REPLACED'];

async function readOn(reader: OutboxReader, log: Log, chance: Chance): Promise<Ending> {
  const ending = await readWindow(reader, log, chance);
  if (ending === 'read to its end' && chance.oneIn(4)) {
    const upTo = log.position.snapshot;
    await reader.cleanup({ after: log.cleaned, upTo });
    log.cleaned = upTo;
  }
  return ending;
}

async function readWindow(reader: OutboxReader, log: Log, chance: Chance): Promise<Ending> {
  const start = log.position;
  const { taken, isNew } = await snapshotFor(reader, start);
  if (chance.oneIn(20)) return 'crashed';
  const window = { after: start.snapshot, upTo: taken.snapshot };
  let place = start.window?.place ?? 0n;
  let needsFlush = isNew;
  for (;;) {
    const limits = {
      rowsMax: chance.between(1, PAGE_ROWS_MAX),
      bytesMax: chance.oneIn(4) ? 500 : 1_000_000,
    };
    const page = await reader.readPage(window, place, limits);
    if (chance.oneIn(8)) await compareAgain(reader, log, { window, place, limits, page });
    if (chance.oneIn(20)) return 'crashed';
    if (needsFlush) await reader.flushed(taken);
    needsFlush = false;
    const outcome = chance.below(20);
    // The batch never arrived, or it did and the answer was lost: the reader learns which one from the position.
    if (outcome === 0) return 'crashed';
    log.rows.push(...page.rows);
    log.position = positionAfter(start, taken, page);
    if (outcome === 1) return 'crashed';
    if (page.isLast) break;
    place = page.place;
  }
  log.windows += 1;
  return 'read to its end';
}

/** A window that was begun is finished first. */
async function snapshotFor(
  reader: OutboxReader,
  { snapshot, window, walInsertLsn, identity }: OutboxPosition,
): Promise<{ readonly taken: TakenSnapshot; readonly isNew: boolean }> {
  if (window === undefined) return { taken: await reader.takeSnapshot(snapshot), isNew: true };
  return { taken: { snapshot: window.upTo, walInsertLsn, identity }, isNew: false };
}

/** A page holds the same rows whenever it is read again; how many, where bytes bound it, is a guess by the rows before. */
async function compareAgain(
  reader: OutboxReader,
  log: Log,
  {
    window,
    place,
    limits,
    page,
  }: { readonly window: SnapshotWindow; readonly place: bigint; readonly limits: PageLimits; readonly page: Page },
): Promise<void> {
  const again = await reader.readPage(window, place, limits);
  const [shorter, longer] = again.rows.length < page.rows.length ? [again, page] : [page, again];
  const isPrefix = shorter.rows.every(({ id }, index) => id === longer.rows[index]?.id);
  if (isPrefix && (shorter.rows.length === longer.rows.length || !shorter.isLast)) return;
  const [before, after] = [page, again].map(({ rows }) => rows.map((row) => row.id).join(' '));
  log.faults.push({ kind: 'page changed', text: `the page after ${place} was ${before}, and then ${after}` });
}
