import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { LogCluster } from '@tidemark/log';
import { createMetricSet, type MetricSet } from '@tidemark/observability';
import { publish } from '@tidemark/outbox/postgres';
import { freePorts, waitFor } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import { limitRecords, openRelayTest, type RelayTest, spawnRelay, withCommit } from './testing/harness.ts';

async function publishRows(test: RelayTest, rows: number): Promise<void> {
  for (let n = 1; n <= rows; n += 1)
    await publish(test.outbox.client, {
      namespace: test.namespace,
      topic: test.topic,
      key: `k${n}`,
      type: 'x',
      payload: '{}',
    });
}

/** The value of a series; undefined while it is absent. */
async function seriesValue(set: MetricSet, series: string): Promise<number | undefined> {
  const line = (await set.render()).page.split('\n').find((text) => text.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

/** A broker that takes no transaction. */
function refusing(cluster: LogCluster): LogCluster {
  return withCommit(cluster, () =>
    Promise.reject(new TidemarkError({ code: 'KAFKA_BUSY', class: ErrorClass.transient, message: 'not now, please' })),
  );
}

it('counts rows and transactions, and knows that nothing waits', async () => {
  const test = await openRelayTest();
  const set = createMetricSet({ program: 'relay' });
  const relay = await test.startRelay({ metrics: set.metrics });
  await publishRows(test, 3);
  await waitFor('the rows', () => relay.rowsPublished === 3);
  expect(await seriesValue(set, 'tidemark_relay_events_total{program="relay"}')).toBe(3);
  const committed = await seriesValue(set, 'tidemark_relay_transactions_total{outcome="committed",program="relay"}');
  expect(committed).toBeGreaterThanOrEqual(1);
  await waitFor('the lag', async () => (await seriesValue(set, 'tidemark_relay_lag_seconds{program="relay"}')) === 0);
  await relay.stop('test');
  expect(await seriesValue(set, 'tidemark_relay_lag_seconds{program="relay"}')).toBeUndefined();
});

it('the lag grows while no transaction succeeds, and the failures are counted', async () => {
  const test = await openRelayTest();
  await publishRows(test, 1);
  const set = createMetricSet({ program: 'relay' });
  await test.startRelay({ metrics: set.metrics, cluster: refusing(test.cluster) });
  const lag = (): Promise<number | undefined> => seriesValue(set, 'tidemark_relay_lag_seconds{program="relay"}');
  const first = await waitFor('a lag', lag);
  expect(await seriesValue(set, 'tidemark_relay_lag_rows{program="relay"}')).toBe(1);
  expect(await seriesValue(set, 'tidemark_relay_parked_rows{program="relay"}')).toBe(0);
  await waitFor('a larger lag', async () => ((await lag()) ?? 0) > first);
  const failed = 'tidemark_relay_transactions_total{outcome="failed",program="relay"}';
  await waitFor('a failure', async () => ((await seriesValue(set, failed)) ?? 0) >= 1);
  expect(await seriesValue(set, 'tidemark_relay_events_total{program="relay"}')).toBe(0);
});

it('rows that wait with a parked key are counted apart, and are no lag', async () => {
  const test = await openRelayTest();
  const { namespace, topic, outbox } = test;
  await limitRecords(topic, 1_000);
  const large = JSON.stringify('x'.repeat(2_000));
  for (const payload of [large, '1', '2'])
    await publish(outbox.client, { namespace, topic, key: 'parked', type: 'x', payload });
  const set = createMetricSet({ program: 'relay' });
  const relay = await test.startRelay({ metrics: set.metrics });
  await publishRows(test, 1);
  await waitFor('the row of another key', () => relay.rowsPublished === 1);
  const metric = (name: string) => seriesValue(set, `tidemark_relay_${name}{program="relay"}`);
  // A look that was begun before the other row was sent sees it wait.
  await waitFor('the parked rows alone', async () => {
    return (await metric('parked_rows')) === 3 && (await metric('lag_rows')) === 0;
  });
  expect(await metric('parked_keys')).toBe(1);
  expect([await metric('lag_rows'), await metric('lag_seconds')]).toEqual([0, 0]);
  await relay.stop('test');
  expect([await metric('lag_rows'), await metric('parked_rows')]).toEqual([undefined, undefined]);
});

it('serves its metrics and probes where TIDEMARK_METRICS_PORT says', async () => {
  const [port] = await freePorts(1);
  const test = await openRelayTest();
  const relay = spawnRelay(test.namespace, { TIDEMARK_METRICS_PORT: String(port) });
  await relay.logged('program.started');
  const get = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: response.status, body: await response.text() };
  };
  // Not while a session has failed.
  const ready = await waitFor('a relay that is ready', async () => {
    const answer = await get('/readyz');
    return answer.status === 200 && answer;
  });
  expect(ready.body).toBe('ok\n');
  expect((await get('/metrics')).body).toContain('tidemark_relay_events_total{program="relay"} 0');
});
