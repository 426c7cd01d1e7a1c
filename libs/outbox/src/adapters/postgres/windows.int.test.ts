import { services, uniqueNamespace } from '@tidemark/testkit';
import type { Client } from 'pg';
import { describe, expect, it, onTestFinished } from 'vitest';
import { BLOCKER_AGE_MS } from '../../limits.ts';
import { positionAfter, startPosition } from '../../position.ts';
import { NOTHING_VISIBLE } from '../../snapshot.ts';
import { openTestOutbox, readAll, type TestOutbox } from '../../testing/index.ts';
import { PATIENT } from '../../testing/patient.ts';
import { openPostgresOutbox } from './index.ts';

async function openOutbox(): Promise<TestOutbox> {
  const outbox = await openTestOutbox({ url: services().postgres, namespace: uniqueNamespace('windows') });
  onTestFinished(() => outbox.drop());
  return outbox;
}

function openReader(outbox: TestOutbox) {
  const opened = openPostgresOutbox({
    url: outbox.url,
    namespace: outbox.namespace,
    relay: 'main',
    owner: 'test',
    patience: PATIENT,
  });
  onTestFinished(() => opened.close());
  return opened.reader;
}

const LIMITS = { rowsMax: 1_000, bytesMax: 1_000_000 };

describe('snapshot windows', () => {
  it('an open transaction holds back its own rows only', async () => {
    const outbox = await openOutbox();
    const reader = openReader(outbox);
    const holder = await outbox.connect();
    await holder.query('begin');
    await holder.query(`select ${outbox.schema}.publish('t', 'held', 'x', '1')`);
    await outbox.client.query(`select ${outbox.schema}.publish('t', 'free', 'x', '2')`);
    const first = await readAll(reader, startPosition((await reader.state()).identity), LIMITS);
    expect(first.rows.map((row) => row.key)).toEqual(['free']);
    const upToFirst = { after: NOTHING_VISIBLE, upTo: first.position.snapshot };
    expect(await reader.cleanup(upToFirst)).toEqual({ rows: 1, goOnAt: undefined });
    await holder.query('commit');
    const second = await readAll(reader, first.position, LIMITS);
    expect(second.rows.map((row) => row.key)).toEqual(['held']);
    const upToSecond = { after: first.position.snapshot, upTo: second.position.snapshot };
    expect(await reader.cleanup(upToSecond)).toEqual({ rows: 1, goOnAt: undefined });
    expect(await reader.backlog(second.position)).toEqual({ rows: 0, isAtLeast: false, lagMs: null });
  });

  it('inside a half-published window the backlog is what is behind its place, and what came after it', async () => {
    const outbox = await openOutbox();
    const reader = openReader(outbox);
    const publish = (key: string): Promise<object> =>
      outbox.client.query(`select ${outbox.schema}.publish('t', '${key}', 'x', '1')`);
    const start = startPosition((await reader.state()).identity);
    expect(await reader.backlog(start)).toMatchObject({ rows: 0 });
    for (const key of ['a', 'b', 'c']) await publish(key);
    expect(await reader.backlog(start)).toMatchObject({ rows: 3 });
    const taken = await reader.takeSnapshot();
    const page = await reader.readPage({ after: start.snapshot, upTo: taken.snapshot }, 0n, {
      rowsMax: 2,
      bytesMax: 1e6,
    });
    expect(page.rows.map(({ key }) => key)).toEqual(['a', 'b']);
    const inside = positionAfter(start, taken, { place: page.place, isLast: false });
    expect(await reader.backlog(inside)).toMatchObject({ rows: 1, isAtLeast: false });
    await publish('d');
    expect(await reader.backlog(inside)).toMatchObject({ rows: 2 });
    const atItsEnd = positionAfter(inside, taken, { place: page.place + 1n, isLast: true });
    expect(await reader.backlog(atItsEnd)).toMatchObject({ rows: 1 });
  });

  it('the lag counts what is committed and not published: of open transactions nothing before they end, and then from when it was written', async () => {
    const outbox = await openOutbox();
    const reader = openReader(outbox);
    const publish = (key: string, client = outbox.client): Promise<object> =>
      client.query(`select ${outbox.schema}.publish('t', '${key}', 'x', '1')`);
    const [early, never, late] = await Promise.all([1, 2, 3].map(() => outbox.connect()));
    if (early === undefined || never === undefined || late === undefined) throw new Error('three sessions');
    for (const client of [early, never, late]) await client.query('begin');
    await publish('early', early);
    await publish('never', never);
    for (const key of ['a', 'b', 'c']) await publish(key);
    const { position } = await readAll(reader, startPosition((await reader.state()).identity), LIMITS);
    await publish('late', late); // its transaction is younger than the position's snapshot sees
    expect(await reader.backlog(position)).toEqual({ rows: 0, isAtLeast: false, lagMs: null });
    await publish('a');
    expect(await reader.backlog(position)).toMatchObject({ rows: 1 });
    await early.query('commit');
    const { rows: written } = await outbox.client.query<{ ms: number }>(
      `select (extract(epoch from clock_timestamp() - occurred_at) * 1000)::float8 as ms from ${outbox.schema}.outbox where key = 'early'`,
    );
    const { rows, lagMs } = await reader.backlog(position);
    expect(rows).toBe(2);
    expect(lagMs).toBeGreaterThanOrEqual(Math.round(written[0]?.ms ?? Number.NaN));
    await late.query('commit');
    await never.query('rollback');
    expect(await reader.backlog(position)).toMatchObject({ rows: 3 });
    // The three are one window: of which so much waits as its place has not passed, whatever is published of others.
    const taken = await reader.takeSnapshot();
    const window = { after: position.snapshot, upTo: taken.snapshot };
    for (const left of [2, 1]) {
      const page = await reader.readPage(window, 0n, { rowsMax: 3 - left, bytesMax: 1e6 });
      const inside = positionAfter(position, taken, { place: page.place, isLast: false });
      expect(await reader.backlog(inside)).toMatchObject({ rows: left });
    }
    expect(await reader.backlog({ snapshot: taken.snapshot, window: undefined })).toMatchObject({ rows: 0 });
  });

  it('names a session and a prepared transaction that hold rows back, by who they are', async () => {
    const outbox = await openOutbox();
    const reader = openReader(outbox);
    const holder = await outbox.connect();
    await holder.query(`set application_name = 'night batch'`);
    await holder.query('begin');
    await holder.query(`select ${outbox.schema}.publish('t', 'held', 'x', '1')`);
    // Its locks outlive its session, so a failing test must not leave it.
    const endPrepared = (client: Client) => client.query(`rollback prepared '${outbox.namespace}'`);
    onTestFinished(() =>
      endPrepared(outbox.client).then(
        () => {},
        () => {},
      ),
    );
    const preparer = await outbox.connect();
    await preparer.query('begin');
    await preparer.query(`select ${outbox.schema}.publish('t', 'prepared', 'x', '1')`);
    await preparer.query(`prepare transaction '${outbox.namespace}'`);
    // Only when they are old enough, which they become on a machine that stands still.
    expect((await reader.blockers()).filter(({ ageMs }) => ageMs < BLOCKER_AGE_MS)).toEqual([]);
    expect(await reader.blockers(0)).toEqual([
      expect.objectContaining({ application: 'night batch', preparedAs: null, state: 'idle in transaction' }),
      expect.objectContaining({ pid: null, preparedAs: outbox.namespace, state: 'prepared' }),
    ]);
    await holder.query('rollback');
    await endPrepared(preparer);
    expect(await reader.blockers(0)).toEqual([]);
  });

  it('a window that grew while it was guessed small is scanned on, and resumes in another reader', async () => {
    const outbox = await openOutbox();
    const first = openReader(outbox);
    const second = openReader(outbox);
    await outbox.client.query(
      `select ${outbox.schema}.publish('t', i::text, 'x', to_jsonb(i), ordered => false) from generate_series(1, 25000) i`,
    );
    const start = startPosition((await first.state()).identity);
    const taken = await first.takeSnapshot();
    const window = { after: start.snapshot, upTo: taken.snapshot };
    const keys: string[] = [];
    let place = 0n;
    for (let page = 0; ; page += 1) {
      const read = await (page % 2 === 0 ? first : second).readPage(window, place, {
        rowsMax: 3_000,
        bytesMax: 10_000_000,
      });
      keys.push(...read.rows.map((row) => row.key));
      place = read.place;
      if (read.isLast) break;
    }
    expect(keys).toEqual(Array.from({ length: 25_000 }, (_, i) => String(i + 1)));
  });

  it('a window on an old outbox does not look at the positions between its rows', async () => {
    const outbox = await openOutbox();
    const reader = openReader(outbox);
    const { client, schema } = outbox;
    const publishAt = async (position: bigint, key: string) => {
      await client.query(`select setval('${schema}.outbox_position_seq', $1, false)`, [position]);
      await client.query(`select ${schema}.publish('t', $1, 'x', '1')`, [key]);
    };
    await publishAt(2_000_000_000n, 'a');
    await publishAt(2_000_000_001n, 'b');
    await publishAt(5_000_000_000n, 'c');
    await client.query(`select setval('${schema}.outbox_position_seq', 9000000000)`);
    const { identity } = await reader.state();
    const taken = await reader.takeSnapshot();
    const window = { after: startPosition(identity).snapshot, upTo: taken.snapshot };
    const pages: string[][] = [];
    for (let place = 0n, isLast = false; !isLast && pages.length < 10; ) {
      const page = await reader.readPage(window, place, LIMITS);
      pages.push(page.rows.map((row) => row.key));
      ({ place, isLast } = page);
    }
    expect(pages).toEqual([['a', 'b'], ['c'], []]);
  });

  it('a page ends soon after its bytes are full', async () => {
    const outbox = await openOutbox();
    const reader = openReader(outbox);
    await outbox.client.query(
      `select ${outbox.schema}.publish('t', i::text, 'x', to_jsonb(repeat('x', 100000)), ordered => false) from generate_series(1, 600) i`,
    );
    const { identity } = await reader.state();
    const taken = await reader.takeSnapshot();
    const window = { after: startPosition(identity).snapshot, upTo: taken.snapshot };
    const first = await reader.readPage(window, 0n, { rowsMax: 5_000, bytesMax: 1_000_000 });
    const second = await reader.readPage(window, first.place, { rowsMax: 5_000, bytesMax: 30_000_000 });
    // How large rows are is not known before.
    expect(first.rows.length).toBe(16);
    expect(second.rows.length).toBeGreaterThanOrEqual(250);
    expect(second.rows.length).toBeLessThan(350);
    expect(second.isLast).toBe(false);
  });

  it('waits until the log is flushed, and nudges a quiet server', async () => {
    const outbox = await openOutbox();
    const reader = openReader(outbox);
    const lazy = await outbox.connect();
    await lazy.query(`set synchronous_commit = off`);
    await lazy.query(`select ${outbox.schema}.publish('t', 'k', 'x', '1')`);
    const taken = await reader.takeSnapshot();
    await reader.flushed(taken);
    const { rows } = await outbox.client.query<{ flushed: boolean }>(
      'select pg_current_wal_flush_lsn() >= $1::pg_lsn as flushed',
      [taken.walInsertLsn],
    );
    expect(rows[0]?.flushed).toBe(true);
  });
});

it('G13: does not vouch for a snapshot whose connection has ended since, because a crash may have come between', async () => {
  const outbox = await openOutbox();
  const reader = openReader(outbox);
  const taken = await reader.takeSnapshot();
  await outbox.client.query(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1`, [
    `${outbox.namespace}.relay.main reader`,
  ]);
  await expect(reader.flushed(taken)).rejects.toMatchObject({ class: expect.stringMatching(/transient|unavailable/) });
  await expect(reader.flushed(taken)).rejects.toMatchObject({ code: 'CONNECTION_REPLACED', class: 'transient' });
  await reader.flushed(await reader.takeSnapshot());
});

describe('what the protocol rests on', () => {
  it('G1: an altered sequence is refused with a clear text', async () => {
    const outbox = await openOutbox();
    const reader = openReader(outbox);
    await reader.checkInstalled();
    await outbox.client.query(`alter sequence ${outbox.schema}.outbox_position_seq cache 50`);
    await expect(reader.checkInstalled()).rejects.toMatchObject({
      code: 'OUTBOX_UNFIT',
      class: 'config',
      message: expect.stringMatching(/outbox_position_seq has CACHE 50/),
    });
  });

  it('a missing key or index is refused', async () => {
    const outbox = await openOutbox();
    const reader = openReader(outbox);
    await outbox.client.query(`drop index ${outbox.schema}.outbox_txid`);
    await expect(reader.checkInstalled()).rejects.toMatchObject({
      message: expect.stringMatching(/index on txid is missing/),
    });
    await outbox.client.query(`alter table ${outbox.schema}.outbox drop constraint outbox_pkey`);
    await expect(reader.checkInstalled()).rejects.toMatchObject({
      message: expect.stringMatching(/primary key on position is missing/),
    });
  });

  it('an outbox that was never installed is told as such', async () => {
    const opened = openPostgresOutbox({
      url: services().postgres,
      namespace: uniqueNamespace('none'),
      relay: 'main',
      owner: 'test',
    });
    onTestFinished(() => opened.close());
    await expect(opened.reader.checkInstalled()).rejects.toMatchObject({
      code: 'OUTBOX_NOT_INSTALLED',
      class: 'config',
    });
  });

  it('a database that does not answer is unavailable, by address and without the password', async () => {
    const opened = openPostgresOutbox({
      url: 'postgres://u:secret@127.0.0.1:1/db',
      namespace: 'n',
      relay: 'main',
      owner: 'test',
    });
    onTestFinished(() => opened.close());
    const failure = opened.reader.takeSnapshot();
    await expect(failure).rejects.toMatchObject({
      class: 'unavailable',
      message: expect.stringContaining('127.0.0.1:1/db'),
    });
    await expect(failure).rejects.not.toMatchObject({ message: expect.stringContaining('secret') });
  });
});

it('P9: a second name on one outbox is refused, and the first is told', async () => {
  const outbox = await openOutbox();
  const { url, namespace } = outbox;
  const [main, rival] = ['main', 'rival'].map((relay) =>
    openPostgresOutbox({ url, namespace, relay, owner: relay, patience: PATIENT }),
  );
  if (main === undefined || rival === undefined) throw new Error('two were opened');
  onTestFinished(async () => {
    await main.close();
    await rival.close();
  });
  expect(await main.lease.acquire(1_000)).toMatchObject({ kind: 'granted' });
  await main.lease.release();
  const removal = `delete from "${namespace}".relays where name = 'main'`;
  await expect(rival.lease.acquire(1_000)).rejects.toMatchObject({
    code: 'RELAY_NAME_TAKEN',
    class: 'config',
    context: { relay: 'rival', taken: 'main' },
    message: expect.stringContaining(removal),
  });
  await outbox.client.query(removal);
  expect(await rival.lease.acquire(1_000)).toMatchObject({ kind: 'granted' });
  await expect(main.lease.acquire(1_000)).rejects.toMatchObject({ code: 'RELAY_NAME_TAKEN' });
});

it('P9: replicas that begin at once on a fresh outbox have one name: one is granted the lease, the others stand by', async () => {
  const outbox = await openOutbox();
  const { url, namespace } = outbox;
  const replicas = Array.from({ length: 6 }, (_, i) =>
    openPostgresOutbox({ url, namespace, relay: 'main', owner: `owner-${i}`, patience: PATIENT }),
  );
  onTestFinished(async () => {
    await Promise.all(replicas.map((replica) => replica.close()));
  });
  // Two inserts of one name meet in the index of the name, or in the one that admits a single row, as it happens.
  for (let round = 0; round < 400; round += 1) {
    await outbox.client.query(`delete from "${namespace}".relays`);
    const answers = await Promise.all(replicas.map(({ lease }) => lease.acquire(60_000)));
    expect(answers.filter(({ kind }) => kind === 'granted')).toHaveLength(1);
  }
});
