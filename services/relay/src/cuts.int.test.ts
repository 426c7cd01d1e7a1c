/** The wires of a relay are cut at every piece of bytes that a session sends or gets: rows are exact, and it goes on by itself. */
import process from 'node:process';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { publish } from '@tidemark/outbox/postgres';
import { type ProxyOptions, services, type TcpProxy, tcpProxy, type Wire, waitFor } from '@tidemark/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { RelayState } from './relay.ts';
import { Moment, type Reach } from './testing/failpoints.ts';
import { countedUp, numbersByKey, openRelayTest, type RelayTest } from './testing/harness.ts';

/** Its client is slow to come back, so that a run takes a part of the cuts, and many runs all of them. */
const KAFKA_STEP = Number(process.env['TIDEMARK_KAFKA_CUTS_STEP'] ?? 3);

/** A renewal of the lease would be taken for the beginning of the next session. */
const LEASE_TTL_MS = 120_000;
/** A session for each cut, of which each may take seconds on a busy machine. */
const WHILE_ALL_ARE_CUT = { timeoutMs: 500_000 };
const timeout = 600_000;

/** A session of fewer has found a way round the proxy. */
const PIECES_MIN = 30;

/** One wire a session is cut, at a piece later than in the session before; the last session is not. */
function cutsOf(publishRow: () => void, step = 1) {
  let next = 1 + Math.floor(Math.random() * step);
  let cuts = 0;
  let pieces = 0;
  let hasCut = true;
  let hasSlept = false;
  let isOver = false;
  const onPiece: NonNullable<ProxyOptions['onPiece']> = ({ wire }) => {
    pieces += 1;
    if (isOver || hasCut || pieces < next) return undefined;
    hasCut = true;
    next += step;
    cuts += 1;
    wire.cut();
    publishRow();
    return undefined;
  };
  const reach: Reach = async (call, at) => {
    if (isOver || at !== Moment.before) return;
    if (call === 'lease.acquire') {
      pieces = 0;
      hasCut = false;
      hasSlept = false;
    }
    if (call === 'hints.announceSleep' && !hasSlept) {
      hasSlept = true;
      publishRow();
    }
    if (call !== 'hints.announceAwake') return;
    isOver = !hasCut && pieces >= PIECES_MIN;
    // It has got over the cut without ending the session.
    if (!isOver) throw new TidemarkError({ code: 'NEXT', class: ErrorClass.transient, message: 'the next cut' });
  };
  return {
    onPiece,
    reach,
    get cuts() {
      return cuts;
    },
    get isOver() {
      return isOver;
    },
  };
}

function rowsOf({ namespace, topic, outbox }: RelayTest) {
  let n = 0;
  let last: Promise<unknown> = Promise.resolve();
  return {
    publish() {
      n += 1;
      const payload = `{"n":${n}}`;
      last = last.then(() => publish(outbox.client, { namespace, topic, key: 'k', type: 'x', payload }));
    },
    async count() {
      await last;
      return n;
    },
  };
}

async function openProxy(options: ProxyOptions): Promise<TcpProxy> {
  const proxy = await tcpProxy(options);
  onTestFinished(() => proxy.close());
  return proxy;
}

async function expectExact(test: RelayTest, count: number): Promise<void> {
  await waitFor(`${count} records`, async () => (await test.readAll(test.topic)).length >= count, {
    timeoutMs: 60_000,
    intervalMs: 100,
  });
  const numbers = await numbersByKey(test.codec, await test.readAll(test.topic));
  expect(numbers).toEqual(countedUp(new Map([['k', count]])));
}

it('G12, P9: a connection to Postgres is cut, at every piece of a session', { timeout }, async () => {
  const test = await openRelayTest();
  const rows = rowsOf(test);
  const cuts = cutsOf(rows.publish);
  const url = new URL(services().postgres);
  const proxy = await openProxy({ target: { host: url.hostname, port: Number(url.port) }, onPiece: cuts.onPiece });
  url.port = String(proxy.port);
  const always = { reach: cuts.reach, random: () => 0, leaseTtlMs: LEASE_TTL_MS };
  const relay = await test.startRelay({ postgres: url.toString(), ...always });
  await waitFor('a session without a cut', () => cuts.isOver, WHILE_ALL_ARE_CUT);
  await expectExact(test, await rows.count());
  expect(cuts.cuts).toBeGreaterThanOrEqual(PIECES_MIN);
  await waitFor('it publishes', () => relay.state === RelayState.publishing);
});

it('G12: connections that swallow everything without a word are noticed and replaced, that of the hints, too', async () => {
  const test = await openRelayTest();
  const rows = rowsOf(test);
  const url = new URL(services().postgres);
  const proxy = await openProxy({ target: { host: url.hostname, port: Number(url.port) } });
  url.port = String(proxy.port);
  // Longer than a busy server takes to answer, and short enough that all of them one after the other are no wait for the test.
  const patience = { answerMs: 10_000, shortAnswerMs: 5_000, listenCheckMs: 500, listenAnswerMs: 5_000 };
  let onWait = (): void => undefined;
  const waits = { onWait: () => onWait() };
  const relay = await test.startRelay({ postgres: url.toString(), patience, leaseTtlMs: 60_000, ...waits });
  rows.publish();
  await waitFor('the first row', () => relay.rowsPublished === 1);
  const isListener = ({ opening }: Wire) => opening.includes(' listener\0');
  await waitFor('a listener', () => [...proxy.wires].some(isListener));
  // While it sleeps: a page that is being read has all the patience.
  const swallowed = Promise.withResolvers<ReadonlySet<Wire>>();
  onWait = () => {
    onWait = () => undefined;
    const wires = new Set(proxy.wires);
    for (const wire of wires) wire.swallow();
    swallowed.resolve(wires);
  };
  const silent = await swallowed.promise;
  onTestFinished(() => {
    for (const wire of silent) wire.cut();
  });
  rows.publish();
  await waitFor('the second row', () => relay.rowsPublished === 2, { timeoutMs: 150_000 });
  await waitFor('another listener', () => [...proxy.wires].some((wire) => isListener(wire) && !silent.has(wire)));
  await expectExact(test, 2);
});

it('G6, G12, P9: a connection to Kafka is cut, at every piece of a session', { timeout }, async () => {
  const test = await openRelayTest();
  const rows = rowsOf(test);
  const cuts = cutsOf(rows.publish, KAFKA_STEP);
  const [host = '', port] = services().kafka.split(':');
  const target = { host, port: Number(port) };
  const proxy = await openProxy({
    target,
    onPiece(piece) {
      cuts.onPiece(piece);
      return piece.direction === 'answer' ? renamed(piece.bytes, target, proxy.port) : undefined;
    },
  });
  const always = { reach: cuts.reach, random: () => 0, leaseTtlMs: LEASE_TTL_MS };
  const relay = await test.startRelay({ kafka: `${proxy.host}:${proxy.port}`, ...always });
  await waitFor('a session without a cut', () => cuts.isOver, WHILE_ALL_ARE_CUT);
  await expectExact(test, await rows.count());
  expect(cuts.cuts).toBeGreaterThanOrEqual(Math.floor(PIECES_MIN / KAFKA_STEP));
  await waitFor('it publishes', () => relay.state === RelayState.publishing);
});

/** A broker tells its own address, which would lead past the proxy: a host's text, and its port in four bytes. */
function renamed(bytes: Buffer, { host, port }: { host: string; port: number }, other: number): Buffer {
  const [told, wanted] = [port, other].map((number) => {
    const four = Buffer.alloc(4);
    four.writeUInt32BE(number);
    return Buffer.concat([Buffer.from(host), four]);
  });
  if (told === undefined || wanted === undefined) throw new Error('two addresses');
  const copy = Buffer.from(bytes);
  for (let at = copy.indexOf(told); at !== -1; at = copy.indexOf(told, at + told.length)) wanted.copy(copy, at);
  return copy;
}
