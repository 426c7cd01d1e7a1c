import { afterEach, describe, expect, it } from 'vitest';
import { type HealthListener, type Readiness, startHealthListener } from './health-listener.ts';
import { createMetricSet } from './metrics.ts';

const open: HealthListener[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((listener) => listener.close()));
});

async function listen(readiness?: () => Readiness) {
  const metricSet = createMetricSet({ program: 'worker', withProcess: true });
  const listener = await startHealthListener({
    port: 'any',
    host: '127.0.0.1',
    metricSet,
    ...(readiness === undefined ? {} : { readiness }),
  });
  open.push(listener);
  const get = async (path: string, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${listener.port}${path}`, { method });
    return { status: response.status, contentType: response.headers.get('content-type'), body: await response.text() };
  };
  return { listener, metricSet, get };
}

describe('startHealthListener', () => {
  it('serves the metrics of the set and of the process', async () => {
    const { metricSet, get } = await listen();
    metricSet.metrics.chunksAdvanced.add(3);
    const { status, contentType, body } = await get('/metrics');
    expect(status).toBe(200);
    expect(contentType).toContain('text/plain');
    expect(body).toContain('tidemark_chunks_advanced_total{program="worker"} 3');
    expect(body).toContain('process_resident_memory_bytes');
  });

  it('is alive always, ready when the program says so', async () => {
    let readiness: Readiness = { kind: 'not ready', reasons: ['redis: maxmemory-policy is allkeys-lru'] };
    const { get } = await listen(() => readiness);
    expect(await get('/livez')).toMatchObject({ status: 200, body: 'ok\n' });
    expect(await get('/readyz')).toMatchObject({ status: 503, body: 'redis: maxmemory-policy is allkeys-lru\n' });
    readiness = { kind: 'ready' };
    expect(await get('/readyz?verbose')).toMatchObject({ status: 200 });
  });

  it('refuses other paths and methods', async () => {
    const { get } = await listen();
    expect(await get('/')).toMatchObject({ status: 404 });
    expect(await get('/metrics', 'POST')).toMatchObject({ status: 405 });
  });

  it('is off at port 0, and names a port that is taken', async () => {
    const { listener, metricSet } = await listen();
    expect(await startHealthListener({ port: 0, host: '127.0.0.1', metricSet })).toMatchObject({ port: 0 });
    await expect(startHealthListener({ port: listener.port, host: '127.0.0.1', metricSet })).rejects.toMatchObject({
      code: 'PORT_UNUSABLE',
      class: 'config',
    });
  });
});
