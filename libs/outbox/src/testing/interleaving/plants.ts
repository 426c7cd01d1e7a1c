/** Wrong ways to read and to capture, each of which somebody has shipped. The checker is worth what it finds of them. */
import type { Client } from 'pg';
import type { OutboxReader } from '../../ports.ts';
import type { TakenSnapshot } from '../../position.ts';
import type { OutboxRow } from '../../row.ts';
import type { SnapshotWindow } from '../../snapshot.ts';
import type { TestOutbox } from '../test-outbox.ts';

export interface Plant {
  /** Reads instead of the true one. `client` is its own. */
  reader?(trueReader: OutboxReader, client: Client, schema: string): OutboxReader;
  /** Changes what is installed, after the tables were attached. */
  install?(outbox: TestOutbox): Promise<void>;
}

export const PLANTS = {
  /** A transaction id is drawn before the lock, so it says nothing about who held it first. */
  'order by (txid, position)': {
    reader: (trueReader, client, schema) => ({
      ...trueReader,
      async readPage(window, place, limits) {
        const rows = await sortedByTxid(client, schema, await wholeWindow(trueReader, window));
        const next = Number(place) + limits.rowsMax;
        return { rows: rows.slice(Number(place), next), place: BigInt(next), isLast: next >= rows.length };
      },
    }),
  },

  /** The holder of a key's lock may have an id above xmin, and the one that waited for it an id below. */
  'a window by xmin': {
    reader: (trueReader) =>
      takingInstead(trueReader, async (taken) => {
        const { xmin } = taken.snapshot;
        return { ...taken, snapshot: { xmin, xmax: xmin, running: [] } };
      }),
  },

  /** What commits late has a position that was passed. It is kept where the snapshot's xmax would be. */
  'a cursor on position': {
    reader: (trueReader, client, schema) => ({
      ...takingInstead(trueReader, async (taken) => {
        const { rows } = await client.query<{ next: string }>(
          `select (coalesce(max(position), 0) + 1)::text as next from ${schema}.outbox`,
        );
        const next = BigInt(rows[0]?.next ?? 1);
        return { ...taken, snapshot: { xmin: next, xmax: next, running: [] } };
      }),
      async readPage({ after, upTo }, place, limits) {
        const { rows } = await client.query<RawRow>(
          `${selectRows(schema)} where position >= $1 and position > $2 and position < $3 order by outbox.position limit $4`,
          [after.xmax, place, upTo.xmax, limits.rowsMax],
        );
        const page = rows.map(toRow);
        return { rows: page, place: page.at(-1)?.position ?? place, isLast: page.length < limits.rowsMax };
      },
      cleanup: () => Promise.resolve({ rows: 0, goOnAt: undefined }), // its snapshots are none
    }),
  },

  /** What a crash takes back was told; and its transaction ids are handed out again, to rows that lie behind the position. */
  'no wait for the flush': {
    reader: (trueReader) => ({ ...trueReader, flushed: () => Promise.resolve() }),
  },

  /** A nested trigger has overtaken it. */
  'NEW instead of the row': {
    install: (outbox) =>
      replaceIn(outbox, 'capture', /execute reading into image using new;/, 'image := to_jsonb(new);'),
  },

  /** A position is drawn while somebody else may hold an older one of the same key. */
  'publish without the lock': {
    install: (outbox) => replaceIn(outbox, 'publish', /if publish\.ordered then/, 'if false then'),
  },

  /** What is visible later goes with what is visible now. */
  'clean-up below xmax': {
    reader: (trueReader) => ({
      ...trueReader,
      cleanup: ({ after, upTo: { xmax } }, ...more) =>
        trueReader.cleanup({ after, upTo: { xmin: xmax, xmax, running: [] } }, ...more),
    }),
  },
} as const satisfies Readonly<Record<string, Plant>>;

async function replaceIn({ client, schema }: TestOutbox, name: string, from: RegExp, to: string): Promise<void> {
  const { rows } = await client.query<{ text: string }>(
    `select pg_get_functiondef(oid) as text from pg_proc where pronamespace = '${schema}'::regnamespace and proname = $1`,
    [name],
  );
  const text = rows[0]?.text ?? '';
  if (!from.test(text)) throw new Error(`${name}() is written in another way by now: plant anew`);
  await client.query(text.replace(from, to));
}

/** The true reader knows only snapshots that it has taken itself. */
function takingInstead(
  trueReader: OutboxReader,
  replace: (taken: TakenSnapshot) => Promise<TakenSnapshot>,
): OutboxReader {
  const trueOnes = new WeakMap<TakenSnapshot, TakenSnapshot>();
  return {
    ...trueReader,
    async takeSnapshot() {
      const taken = await trueReader.takeSnapshot();
      const replaced = await replace(taken);
      trueOnes.set(replaced, taken);
      return replaced;
    },
    flushed: (taken) => trueReader.flushed(trueOnes.get(taken) ?? taken),
  };
}

async function wholeWindow(reader: OutboxReader, window: SnapshotWindow): Promise<readonly OutboxRow[]> {
  const rows: OutboxRow[] = [];
  for (let place = 0n, isLast = false; !isLast; ) {
    const page = await reader.readPage(window, place, { rowsMax: 1_000, bytesMax: 1_000_000 });
    rows.push(...page.rows);
    ({ place, isLast } = page);
  }
  return rows;
}

async function sortedByTxid(
  client: Client,
  schema: string,
  window: readonly OutboxRow[],
): Promise<readonly OutboxRow[]> {
  const { rows } = await client.query<{ id: string }>(
    `select id::text as id from ${schema}.outbox where id = any ($1::uuid[]) order by txid, outbox.position`,
    [window.map((row) => row.id)],
  );
  const byId = new Map(window.map((row) => [row.id, row]));
  return rows.flatMap(({ id }) => byId.get(id) ?? []);
}

type RawRow = Pick<OutboxRow, 'id' | 'topic' | 'key' | 'type' | 'payload'> & { readonly position: string };

function selectRows(schema: string): string {
  return `select position::text as position, id::text as id, topic, key, type, payload::text as payload from ${schema}.outbox`;
}

function toRow(row: RawRow): OutboxRow {
  return { ...row, position: BigInt(row.position), headers: {}, occurredAt: '' };
}
