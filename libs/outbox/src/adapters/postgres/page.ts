/**
 * Pages of a window. A small window is found by the index on txid and sorted once. A large one is scanned in the order
 * of position from the place that was reached, because sorting its rest again for every page would be quadratic.
 */
import type { ClientBase, QueryResult } from 'pg';
import {
  ANSWER_MS_MAX,
  FETCH_ROWS_MAX,
  FIRST_FETCH_ROWS,
  FIRST_FETCH_UNKNOWN_ROWS,
  FIRST_FETCH_WAITING_ROWS,
  SCAN_POSITIONS_MAX,
  SORTED_WINDOW_ROWS_MAX,
} from '../../limits.ts';
import type { KeyTail, Page, PageLimits } from '../../ports.ts';
import type { PublishedPlace } from '../../position.ts';
import { NO_HEADERS, type OutboxRow } from '../../row.ts';
import { type Snapshot, type SnapshotWindow, snapshotText } from '../../snapshot.ts';
import type { Session } from './database.ts';
import type { Queries } from './queries.ts';

export interface PageReader {
  /** The sequence's last value, read with the snapshot: no row that is visible in it lies above. */
  noteLastPosition(snapshot: Snapshot, position: bigint): void;
  /** Where the window before ended; undefined until one was read to its end. */
  readonly positionBefore: bigint | undefined;
  /** Of a first fetch: few until it is known how large rows are. */
  readonly firstRows: number;
  /** The newest window may be larger than where it ends lets guess: it is not worth a try to sort it. */
  readonly wasTooMuch: boolean;
  /** What may have to sort more than the server gets done in time. */
  trying<Result>(work: () => Promise<Result>): Promise<Result>;
  /** All rows of the window, so that its page need not be asked for. */
  noteRows(window: SnapshotWindow, rows: readonly RawRow[]): void;
  read(window: SnapshotWindow, place: bigint, limits: PageLimits): Promise<Page>;
  readTails(published: PublishedPlace, tails: readonly KeyTail[], limits: PageLimits): Promise<Page>;
}

export function createPageReader(session: Session, queries: Queries): PageReader {
  let noted: { readonly snapshot: string; readonly position: bigint } | undefined;
  let positionBefore: bigint | undefined;
  let whole: { readonly window: string; readonly rows: readonly RawRow[] } | undefined;
  /** The window whose rest is scanned. */
  let scanned: string | undefined;
  /**
   * The server did not get to the end of sorting: rows of a long transaction can lie below every window before. The next
   * session has a newer window, which is not smaller.
   */
  let wasTooMuch = false;
  /** Of an average row, when one was read last. */
  let rowBytes: number | undefined;
  let pageBytesMax = 0;

  function firstRows(): number {
    return rowBytes === undefined
      ? FIRST_FETCH_UNKNOWN_ROWS
      : Math.max(1, Math.min(FIRST_FETCH_ROWS, Math.ceil(pageBytesMax / rowBytes)));
  }

  async function trying<Result>(work: () => Promise<Result>): Promise<Result> {
    wasTooMuch = true;
    const result = await work();
    wasTooMuch = false;
    return result;
  }

  async function readRows(client: ClientBase, open: string, limits: PageLimits): Promise<Page> {
    pageBytesMax = limits.bytesMax;
    const { page, bytes } = await readCursor(client, queries, open, { ...limits, firstRows: firstRows() });
    if (page.rows.length > 0) rowBytes = bytes / page.rows.length;
    return page;
  }

  /** Only a value that was read with or after the window's snapshot bounds its rows; another relay may have begun the window. */
  async function lastPositionOf(client: ClientBase, window: SnapshotWindow): Promise<bigint> {
    const snapshot = snapshotText(window.upTo);
    if (noted?.snapshot === snapshot) return noted.position;
    const { rows } = await client.query<{ last_position: string }>(queries.lastPosition);
    if (rows[0] === undefined) throw new Error('the sequence answered no row');
    noted = { snapshot, position: BigInt(rows[0].last_position) };
    return noted.position;
  }

  /** A guess about cost only: rows of transactions that were open for long may make a small window large. */
  async function isSmall(client: ClientBase, lastPosition: bigint): Promise<boolean> {
    positionBefore ??= await skipEmpty(client, 0n, lastPosition);
    return lastPosition - positionBefore <= BigInt(SORTED_WINDOW_ROWS_MAX);
  }

  /** Up to here there is no row above the place: whatever the window holds is committed, so this statement sees it, too. */
  async function skipEmpty(client: ClientBase, place: bigint, lastPosition: bigint): Promise<bigint> {
    const { rows } = await client.query<{ first: string | null }>(queries.firstPosition, [place]);
    const first = rows[0]?.first == null ? lastPosition : BigInt(rows[0].first) - 1n;
    return first < lastPosition ? first : lastPosition;
  }

  /** From the place, but never through an empty stretch: an old outbox has billions of positions behind it. */
  async function scan(client: ClientBase, at: WindowPlace, limits: PageLimits): Promise<Page> {
    const { window, lastPosition } = at;
    const after = at.place === 0n ? await skipEmpty(client, 0n, lastPosition) : at.place;
    const reach = after + SCAN_POSITIONS_MAX;
    const endsHere = lastPosition <= reach;
    const upTo = endsHere ? lastPosition : reach;
    const page = await readRows(client, queries.openScannedPage(window, { after, upTo }), limits);
    if (!page.isLast || endsHere) return page;
    return { ...page, place: await skipEmpty(client, upTo, lastPosition), isLast: false };
  }

  return {
    get positionBefore() {
      return positionBefore;
    },
    noteLastPosition(snapshot, position) {
      noted = { snapshot: snapshotText(snapshot), position };
    },
    get firstRows() {
      return firstRows();
    },
    get wasTooMuch() {
      return wasTooMuch;
    },
    trying,
    noteRows(window, rows) {
      if (rows.length > 0) rowBytes = rows.reduce((sum, row) => sum + bytesOf(row), 0) / rows.length;
      whole = { window: nameOf(window), rows };
    },
    async read(window, place, limits) {
      const name = nameOf(window);
      const known = whole?.window === name && place === 0n && whole.rows.length <= limits.rowsMax ? whole : undefined;
      whole = undefined;
      if (known !== undefined && noted?.snapshot === snapshotText(window.upTo)) {
        positionBefore = noted.position;
        return pageOf(known.rows.map(toRow), true);
      }
      return session.use(async (client) => {
        const lastPosition = await lastPositionOf(client, window);
        if (place === 0n && scanned !== name && !wasTooMuch && (await isSmall(client, lastPosition))) {
          const page = await trying(() => readRows(client, queries.openSortedPage(window, place), limits));
          if (page.isLast) positionBefore = lastPosition;
          else scanned = name;
          return page;
        }
        scanned = name;
        const page = await scan(client, { window, place, lastPosition }, limits);
        if (page.isLast) {
          positionBefore = lastPosition;
          wasTooMuch = false;
        }
        return page;
      });
    },
    readTails: (published, tails, limits) =>
      session.use(async (client) => {
        const fewFirst = { ...limits, firstRows: FIRST_FETCH_WAITING_ROWS };
        return (await readCursor(client, queries, queries.openTails(published, tails), fewFirst)).page;
      }),
  };
}

function nameOf({ after, upTo }: SnapshotWindow): string {
  return `${snapshotText(after)}/${snapshotText(upTo)}`;
}

function pageOf(rows: readonly OutboxRow[], isLast: boolean): Page {
  return { rows, place: rows.at(-1)?.position ?? 0n, isLast };
}

interface WindowPlace {
  readonly window: SnapshotWindow;
  readonly place: bigint;
  /** No row of the window lies above. */
  readonly lastPosition: bigint;
}

export interface RawRow {
  readonly position: string;
  readonly id: string;
  readonly topic: string;
  readonly key: string;
  readonly type: string;
  readonly payload: string | null;
  readonly headers: string;
  readonly occurred_at: string;
}

/** What a row costs besides its texts. */
const ROW_OVERHEAD_BYTES = 200;

async function readCursor(
  client: ClientBase,
  queries: Queries,
  open: string,
  limits: PageLimits & { readonly firstRows: number },
): Promise<{ readonly page: Page; readonly bytes: number }> {
  const rows: OutboxRow[] = [];
  let bytes = 0;
  let isLast = false;
  let wanted = Math.min(limits.firstRows, limits.rowsMax);
  let statement = `${open}; ${queries.fetchPage(wanted)}`;
  for (;;) {
    const fetched = await fetchRows(client, statement);
    for (const row of fetched) {
      rows.push(toRow(row));
      bytes += bytesOf(row);
    }
    isLast = fetched.length < wanted;
    if (isLast || rows.length >= limits.rowsMax || bytes >= limits.bytesMax) break;
    wanted = nextFetch(rows.length, bytes, limits);
    statement = queries.fetchPage(wanted);
  }
  await client.query(queries.closePage);
  return { page: pageOf(rows, isLast), bytes };
}

function bytesOf({ key, headers, payload }: RawRow): number {
  return key.length + headers.length + (payload?.length ?? 0) + ROW_OVERHEAD_BYTES;
}

function nextFetch(rows: number, bytes: number, limits: PageLimits): number {
  const byBytes = Math.ceil((limits.bytesMax - bytes) / (bytes / rows));
  return Math.max(1, Math.min(FETCH_ROWS_MAX, limits.rowsMax - rows, byBytes));
}

/** Several statements in one text answer with several results; the fetch is the last. */
async function fetchRows(client: ClientBase, statement: string): Promise<readonly RawRow[]> {
  // The first row may come after a sort, which the server bounds.
  const patiently = { text: statement, query_timeout: ANSWER_MS_MAX };
  const answer: QueryResult<RawRow> | readonly QueryResult<RawRow>[] = await client.query<RawRow>(patiently);
  const results = Array.isArray(answer) ? answer : [answer];
  return results.at(-1)?.rows ?? [];
}

function toRow(raw: RawRow): OutboxRow {
  return {
    position: BigInt(raw.position),
    id: raw.id,
    topic: raw.topic,
    key: raw.key,
    type: raw.type,
    payload: raw.payload,
    // Names and texts only: publish() refuses everything else, so no number passes through here.
    headers: raw.headers === '{}' ? NO_HEADERS : (JSON.parse(raw.headers) as OutboxRow['headers']),
    occurredAt: raw.occurred_at,
  };
}
