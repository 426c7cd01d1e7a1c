import { describe, expect, it } from 'vitest';
import { type MetricDefinition, metricTable } from './metric-table.ts';
import { createMetricSet } from './metrics.ts';

async function seriesOf(set: ReturnType<typeof createMetricSet>): Promise<readonly string[]> {
  const { page } = await set.render();
  return page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

const definitions: readonly MetricDefinition[] = Object.values(metricTable);

describe('the metric table', () => {
  it.each(definitions)('$name follows the conventions of Prometheus', (definition) => {
    expect(definition.name).toMatch(/^tidemark_[a-z_]+$/);
    expect(definition.name.endsWith('_total')).toBe(definition.kind === 'counter');
    expect(definition.help).toMatch(/\.$/);
    expect(definition.label?.values.length ?? 1).toBeLessThanOrEqual(20);
  });

  it('has no name twice', () => {
    expect(new Set(definitions.map((definition) => definition.name)).size).toBe(definitions.length);
  });
});

describe('createMetricSet', () => {
  it('L3: has all its series from the start, so that work adds none but gauges that become known', async () => {
    const set = createMetricSet({ program: 'worker' });
    const before = await seriesOf(set);
    set.metrics.recordsSettled.add(12, 'ok');
    set.metrics.recordsSettled.add(1n, 'dead_lettered');
    set.metrics.handlerSeconds.observe(0.02);
    set.metrics.chunksAdvanced.add(1);
    const after = await seriesOf(set);
    expect(after).toHaveLength(before.length);
    expect(after).toContain('tidemark_records_settled_total{outcome="ok",program="worker"} 12');
    expect(after).toContain('tidemark_records_settled_total{outcome="dead_lettered",program="worker"} 1');
    expect(after).toContain('tidemark_handler_seconds_bucket{le="0.05",program="worker"} 1');
  });

  it('L1: an unknown value is an absent series, never -1 or NaN', async () => {
    const set = createMetricSet({ program: 'relay' });
    const lag = async () => (await seriesOf(set)).filter((line) => line.startsWith('tidemark_relay_lag_seconds'));
    expect(await lag()).toEqual([]);
    set.metrics.relayLagSeconds.set(3.5);
    expect(await lag()).toEqual(['tidemark_relay_lag_seconds{program="relay"} 3.5']);
    set.metrics.relayLagSeconds.set(Number.NaN);
    expect(await lag()).toEqual([]);
    set.metrics.relayLagSeconds.set(0);
    set.metrics.relayLagSeconds.set(undefined);
    expect(await lag()).toEqual([]);
  });

  it('sets labelled gauges one by one', async () => {
    const set = createMetricSet({ program: 'distributor' });
    set.metrics.jobs.set(2, 'RUNNING');
    set.metrics.jobs.set(1, 'SUSPENDED');
    set.metrics.jobs.set(undefined, 'SUSPENDED');
    const jobs = (await seriesOf(set)).filter((line) => line.startsWith('tidemark_jobs'));
    expect(jobs).toEqual(['tidemark_jobs{state="RUNNING",program="distributor"} 2']);
  });

  it('keeps two programs of one process apart', async () => {
    const first = createMetricSet({ program: 'worker' });
    const second = createMetricSet({ program: 'relay' });
    first.metrics.relayEvents.add(5);
    expect(await seriesOf(second)).toContain('tidemark_relay_events_total{program="relay"} 0');
  });
});
