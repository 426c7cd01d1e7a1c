/** The HTTP side on real services. */
import { request } from 'node:http';
import { silentLogger } from '@tidemark/observability';
import { produce, uniqueNamespace, waitFor } from '@tidemark/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startConsole } from './console.ts';
import { consoleOn, type TestConsole } from './testing/console-on.ts';
import { openScene, type Scene } from './testing/scene.ts';
import * as schemas from './view/schemas.ts';

/** Nobody listens there. */
const NO_REDIS = 'redis://127.0.0.1:1';

let scene: Scene;
let console_: TestConsole;
let topic: string;

beforeAll(async () => {
  scene = await openScene();
  const distributor = scene.start('distributor');
  const worker = scene.start('worker');
  for (const program of [distributor, worker]) await program.logged('program.started');
  topic = await scene.topic('orders', { partitions: 1, records: 30 });
  await scene.submit({ jobId: 'done', topic, handler: 'count' }, 'COMPLETED');
  // From here on nobody works.
  await worker.kill('SIGTERM');
  console_ = await consoleOn(scene.namespace);
});

afterAll(async () => {
  await console_?.stop('test');
  await scene?.close();
});

/** The body, when it has exactly the fields of its schema. */
async function checked<Value>(path: string, schema: { parse(value: unknown): Value }): Promise<Value> {
  const body = await console_.json(path);
  const parsed = schema.parse(body);
  expect(parsed, `${path} fits its schema`).toEqual(body);
  return parsed;
}

/** On a loaded machine a view may be too old to be shown: that is said then, and the next look brings it back. */
async function sees<Value>(
  path: string,
  schema: { parse(value: unknown): Value },
  expected: Partial<Record<keyof Value, unknown>>,
): Promise<void> {
  await waitFor(`${path} to show it`, async () => {
    expect(await checked(path, schema)).toMatchObject(expected);
    return true;
  });
}

describe('the API', () => {
  it('answers as its schemas say', async () => {
    await waitFor('all services to be seen', async () => (await checked('/api/status', schemas.status)).ready);
    await sees('/api/status', schemas.status, { namespace: scene.namespace, workersAlive: expect.any(Number) });
    await sees('/api/jobs', schemas.jobs, {
      jobs: [{ jobId: 'done', state: 'COMPLETED', progress: { percent: 100 } }],
    });
    await checked('/api/workers', schemas.workers);
    await checked('/api/retention', schemas.retention);
    // This namespace has no outbox, which is not the same as a Postgres that is down.
    await sees('/api/relay', schemas.relay, { state: 'no outbox', unknown: null, backlogRows: null });
  });

  it('a job that is over still shows its ranges, and they add up', async () => {
    await sees('/api/jobs/done', schemas.jobDetail, {
      source: 'checkpoints',
      window: [{ partition: 0, start: '-1', end: '29', settledUpTo: '29' }],
      identity: { span: '30', counted: '30', addsUp: true, counters: { ok: '30' } },
      rangeRows: [{ status: 'done', addsUp: true }],
    });
  });

  it('L1: nobody works, 70 records are written, and the next look shows a lag of 70', async () => {
    await waitFor(
      'the lag of a job that is over',
      async () => (await checked('/api/lag', schemas.lag)).rows[0]?.lagOffsets === '0',
    );
    const writtenAtMs = Date.now();
    await produce(
      topic,
      Array.from({ length: 70 }, (_, index) => ({ value: `${index}` })),
    );
    const lag = await waitFor('the lag to grow', async () => {
      const seen = await checked('/api/lag', schemas.lag);
      const [row] = seen.rows;
      return typeof row?.lagOffsets === 'string' && row.lagOffsets !== '0' && row.lagSeconds !== null && seen;
    });
    expect(lag.rows).toMatchObject([
      { state: 'behind', cursor: '29', highWatermark: '100', lagOffsets: '70', isActive: false },
    ]);
    expect(lag.rows[0]?.lagSeconds).toBeLessThanOrEqual((Date.now() - writtenAtMs) / 1_000 + 1);
    expect(lag.sum.offsets).toBe('70');
  });

  it('what is not there is not found, and a limit is a number', async () => {
    const statusOf = async (path: string) => (await console_.get(path)).status;
    expect(await statusOf('/api/jobs/nobody')).toBe(404);
    expect(await statusOf('/api/nothing')).toBe(404);
    expect(await statusOf('/api/jobs?limit=0')).toBe(400);
    expect(await statusOf('/app/..%2f..%2fpackage.json')).toBe(404);
  });

  it('describes itself', async () => {
    const document = (await console_.json('/api/openapi.json')) as {
      openapi: string;
      paths: Record<string, Record<string, { security?: object }>>;
    };
    const orders = Object.values(document.paths).flatMap(({ post }) => post ?? []);
    expect(orders.map(({ security }) => security)).toEqual([1, 2, 3].map(() => [{ operator: [] }]));
    expect(document.openapi).toBe('3.1.0');
    expect(Object.keys(document.paths).sort()).toEqual([
      '/api/dead-letters',
      '/api/dead-letters/{topic}',
      '/api/dead-letters/{topic}/letters',
      '/api/dead-letters/{topic}/letters/{partition}/{offset}',
      '/api/dead-letters/{topic}/letters/{partition}/{offset}/edit',
      '/api/dead-letters/{topic}/letters/{partition}/{offset}/key',
      '/api/dead-letters/{topic}/letters/{partition}/{offset}/value',
      '/api/dead-letters/{topic}/redrive',
      '/api/events',
      '/api/jobs',
      '/api/jobs/{jobId}',
      '/api/lag',
      '/api/relay',
      '/api/retention',
      '/api/series',
      '/api/series/{series}',
      '/api/series/{series}/orders',
      '/api/session',
      '/api/status',
      '/api/workers',
    ]);
  });

  it('changes nothing: every method but reading is refused', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH'])
      expect((await fetch(new URL('/api/jobs', console_.url), { method })).status, method).toBe(404);
  });

  it('answers no page of somebody else whose name was pointed at this machine', async () => {
    const status = await new Promise((resolve, reject) => {
      // fetch does not let a caller choose the host header.
      request(console_.url, { headers: { host: 'rebound.example' } }, (answer) => resolve(answer.resume().statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(421);
  });

  it('every answer carries the policy', async () => {
    for (const path of ['/', '/app/app.js', '/api/status', '/api/nothing', '/metrics', '/livez']) {
      const { headers } = await console_.get(path);
      expect(headers.get('content-security-policy'), path).toContain("default-src 'none'; script-src 'self'");
      expect(headers.get('x-content-type-options'), path).toBe('nosniff');
    }
  });
});

describe('the stream', () => {
  it('brings a snapshot a second and the job that is asked for, and ends with its reader', async () => {
    const gone = new AbortController();
    const response = await fetch(new URL('/api/events?job=done', console_.url), { signal: gone.signal });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const seen: string[] = [];
    let text = '';
    for await (const piece of response.body ?? []) {
      text += Buffer.from(piece).toString();
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        const [, name, data] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
        if (name === 'snapshot') schemas.snapshot.parse(JSON.parse(data ?? ''));
        if (data === 'null') continue; // nobody can say now
        if (name === 'job') schemas.jobDetail.parse(JSON.parse(data ?? ''));
        if (name !== undefined) seen.push(name);
      }
      if (seen.length >= 4 && seen.includes('job')) break;
    }
    gone.abort();
    expect(new Set(seen)).toEqual(new Set(['snapshot', 'job']));
  });
});

describe('the probes', () => {
  it('are fine when everything is up, and the numbers can be scraped at once', async () => {
    await waitFor('everything to be up', async () => (await (await console_.get('/readyz')).text()) === 'ok\n');
    await waitFor('the job to be counted', async () =>
      (await (await console_.get('/metrics')).text()).includes('tidemark_jobs{state="COMPLETED",program="console"} 1'),
    );
  });

  it('name the service that is down; the console lives, and shows what the others know', async () => {
    const half = await consoleOn(scene.namespace, { redis: NO_REDIS });
    try {
      expect((await half.get('/livez')).status).toBe(200);
      await waitFor('Redis to be found down', async () => {
        const ready = await half.get('/readyz');
        return ready.status === 503 && /^Redis: down: .+\n$/.test(await ready.text());
      });
      await waitFor('the job', async () => schemas.jobs.parse(await half.json('/api/jobs')).jobs.length === 1);
      expect(schemas.workers.parse(await half.json('/api/workers'))).toMatchObject({
        alive: null,
        unknown: expect.stringContaining('127.0.0.1:1'),
      });
      expect(await (await half.get('/metrics')).text()).not.toContain('tidemark_workers_alive{');
    } finally {
      await half.stop('test');
    }
  });
});

describe('a start', () => {
  it('refuses what is not loopback, and a port that is taken', async () => {
    const options = {
      kafka: ['127.0.0.1:1'],
      redisUrl: NO_REDIS,
      postgresUrl: 'postgres://127.0.0.1:1/none',
      registryUrl: 'http://127.0.0.1:1',
      namespace: uniqueNamespace('console'),
      logger: silentLogger,
    };
    await expect(startConsole({ ...options, host: '0.0.0.0', port: 0 })).rejects.toMatchObject({
      code: 'PUBLIC_BIND',
      class: 'config',
    });
    await expect(startConsole({ ...options, port: console_.port })).rejects.toMatchObject({
      code: 'PORT_UNUSABLE',
      class: 'config',
    });
  });
});
