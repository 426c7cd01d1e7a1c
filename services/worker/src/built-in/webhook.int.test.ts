/** Webhooks by a whole worker, on the in-memory log and store, to a real server of HTTP. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMemoryCodec } from '@tidemark/contracts/testing';
import { headerText } from '@tidemark/log';
import { waitFor } from '@tidemark/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { keptLog } from '../testing/log-lines.ts';
import { type MemoryBench, memoryBench } from '../testing/memory-worker.ts';
import { recordsOf } from '../testing/records-of.ts';
import { createWebhook } from './webhook.ts';

interface Request {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

type Answer = (response: ServerResponse, request: Request) => void;

async function listening(answer: Answer): Promise<{ readonly url: string; readonly requests: Request[] }> {
  const requests: Request[] = [];
  const server = createServer((incoming, response) => {
    void read(incoming).then((request) => {
      requests.push(request);
      answer(response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

async function read(incoming: IncomingMessage): Promise<Request> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  const { method, url, headers } = incoming;
  return { method, path: url, headers, body: Buffer.concat(parts) };
}

const status =
  (code: number, body = ''): Answer =>
  (response) =>
    void response.writeHead(code).end(body);

async function setUp(values: readonly string[], speed = 1): Promise<MemoryBench> {
  const bench = memoryBench({ speed });
  bench.cluster.createTopic('t');
  if (values.length > 0) await bench.append('t', values);
  return bench;
}

function run(bench: MemoryBench, url: string, parameters: Readonly<Record<string, string>> = {}, more: object = {}) {
  const job = { topic: 't', handler: 'webhook', acceptDuplicates: true, parameters: { url, ...parameters } };
  return bench.install({ ...job, ...more });
}

const webhook = (codec = createMemoryCodec(), nowMs = Date.now) => createWebhook({ codec, nowMs });

async function lettersOf({ cluster }: MemoryBench): Promise<readonly string[]> {
  const letters = await recordsOf(cluster, 't.dlq');
  return letters.map((letter) => headerText(letter, 'tm_dlq_error') ?? '');
}

it('D2: posts what was written, with where it is from: decoded, as bytes, and a tombstone apart from nothing', async () => {
  const codec = createMemoryCodec();
  const { url, requests } = await listening(status(204));
  const bench = await setUp([]);
  const writer = await bench.cluster.openWriter();
  const json = '{"id": 9007199254740993}';
  const values = [await codec.encodeJsonFor('t', json), Buffer.from([1, 0xff]), Buffer.alloc(0), null];
  await writer.append(
    values.map((value) => ({
      topic: 't',
      partition: 0,
      key: Buffer.from([0, 0xff]),
      value,
      timestampMs: 1_700_000_000_000n,
    })),
  );
  const job = await run(bench, `${url}/in?key=s3cret`, { method: 'PUT', 'header.Authorization': 'Bearer s3cret' });
  const log = keptLog();
  await bench.work([webhook(codec)], { codec, logger: log.logger });
  expect(await job.closed()).toMatchObject([{ counters: { ok: 4n } }]);
  requests.sort((a, b) => Number(a.headers['tm-origin-offset']) - Number(b.headers['tm-origin-offset']));
  expect(requests.map(({ body }) => body)).toEqual([
    Buffer.from(json),
    Buffer.from([1, 0xff]),
    Buffer.alloc(0),
    Buffer.alloc(0),
  ]);
  expect(requests.map(({ headers }) => [headers['content-type'], headers['tm-tombstone']])).toEqual([
    ['application/json', undefined],
    ['application/octet-stream', undefined],
    ['application/octet-stream', undefined],
    [undefined, 'true'],
  ]);
  expect(requests[1]).toMatchObject({
    method: 'PUT',
    path: '/in?key=s3cret',
    headers: {
      authorization: 'Bearer s3cret',
      'idempotency-key': 't/0/1',
      'tm-origin-topic': 't',
      'tm-origin-topic-id': job.definition.topicId,
      'tm-origin-partition': '0',
      'tm-origin-offset': '1',
      'tm-origin-timestamp': '1700000000000',
      'tm-origin-job': job.jobId,
      'tm-attempt': '1',
      'tm-key-base64': 'AP8=',
    },
  });
});

it('retries what may pass, dead-letters what the server refuses with its words, and lets no secret out', async () => {
  let calls = 0;
  const { url } = await listening((response, { body }) => {
    if (body.toString() === 'flaky' && ++calls < 3) return status(500)(response, {} as Request);
    return body.toString() === 'bad'
      ? void response.writeHead(422).end('no such\r\nuser')
      : void response.writeHead(200).end();
  });
  const bench = await setUp(['good', 'flaky', 'bad', 'good']);
  const log = keptLog();
  const job = await run(bench, `${url}/?key=s3cret`, { 'header.x-token': 's3cret' });
  await bench.work([webhook()], { logger: log.logger });
  expect(await job.closed()).toMatchObject([{ counters: { ok: 3n, deadLettered: 1n, retries: 2n } }]);
  expect(await lettersOf(bench)).toEqual([`${url} answers 422: no such user`]);
  expect(JSON.stringify(log.lines)).not.toContain('s3cret');
});

it('P6: a server that asks for patience costs no attempt and no record, and is asked no sooner than it wants', async () => {
  let nowMs = 1_000_000;
  let looks = 0;
  let isBack = false;
  const { url, requests } = await listening((response) =>
    isBack
      ? void response.writeHead(200).end()
      : void response.writeHead(503, { 'retry-after': '30' }).end('later, please'),
  );
  const bench = await setUp(['0']);
  const job = await run(bench, url, {}, { attempts: 1 });
  const clock = (): number => {
    looks += 1;
    return nowMs;
  };
  await bench.work([webhook(createMemoryCodec(), clock)]);
  // Three looks of the request, and one of each probe.
  await waitFor('probes', () => looks >= 5);
  expect(requests).toHaveLength(1);
  expect((await job.ranges())[0]?.note).toContain(`webhook ${url}`);
  isBack = true;
  nowMs += 30_000;
  expect(await job.closed()).toMatchObject([{ counters: { ok: 1n, deadLettered: 0n, retries: 0n } }]);
});

it('P6: a server that hangs up opens the breaker under a stable name, and buries nothing', async () => {
  const { url } = await listening((response) => void response.destroy());
  const bench = await setUp(['0']);
  const log = keptLog();
  await run(bench, `${url}/in?key=s3cret`, {}, { attempts: 1 });
  await bench.work([webhook()], { logger: log.logger });
  await waitFor('the breaker', () => log.said('breaker.opened').length > 0);
  expect(log.said('breaker.opened')).toMatchObject([{ dependency: `webhook ${url}` }]);
  expect(JSON.stringify(log.lines)).not.toContain('s3cret');
  expect(await lettersOf(bench)).toEqual([]);
});

it('follows no redirect: the other host is never asked, and the record waits', async () => {
  const other = await listening(status(200));
  const { url } = await listening((response) => void response.writeHead(307, { location: `${other.url}/in` }).end());
  const bench = await setUp(['0']);
  const job = await run(bench, url, {}, { attempts: 1 });
  await bench.work([webhook()]);
  await waitFor('a range that waits', async () => ((await job.ranges())[0]?.note ?? '').includes('webhook'));
  expect(other.requests).toEqual([]);
  expect(await lettersOf(bench)).toEqual([]);
});

it('gives a request up when its time is over, and tries the record again later', async () => {
  let calls = 0;
  const closed: boolean[] = [];
  const { url } = await listening((response) => {
    if (++calls > 1) return void response.writeHead(200).end();
    response.on('close', () => closed.push(response.writableFinished));
  });
  const bench = await setUp(['0'], 100);
  // So many that a slow machine, on which the others run out of time as well, comes to one that does not.
  const job = await run(bench, url, { timeoutMs: '200' }, { attempts: 100 });
  await bench.work([webhook()]);
  expect(await job.closed()).toMatchObject([{ counters: { ok: 1n, deadLettered: 0n } }]);
  await waitFor('the end of the request that was given up', () => closed.length > 0);
  expect(closed).toEqual([false]);
});
