import { describe, expect, it } from 'vitest';
import { HOSTILE } from '../testing/hostile.ts';
import { DOWN, jobState, known, NOW_MS, present, rangeState, sightOf, WORKER, workOf } from '../testing/sights.ts';
import { createConsoleMetrics } from './console-metrics.ts';

const SERIES = /^([a-z_:][a-z0-9_:]*)(\{([a-z_]+="(\\["\\n]|[^"\\\n])*",?)*\})? (-?[0-9.e+-]+)$/i;

/** Every line of the page is a comment or a series. */
function seriesOf(page: string): readonly string[] {
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('# '));
  expect(lines.filter((line) => !SERIES.test(line))).toEqual([]);
  return lines;
}

async function render(sight: ReturnType<typeof sightOf>): Promise<readonly string[]> {
  return seriesOf((await createConsoleMetrics('main').render(sight)).page);
}

/** So many jobs of one record each, whose texts are as bad as they can be. */
function manyJobs(count: number) {
  const states = Array.from({ length: count }, (_, index) =>
    jobState({
      jobId: `job-${index}`,
      note: HOSTILE,
      reason: HOSTILE,
      windows: [[-1, 0]],
      state: index % 2 === 0 ? 'RUNNING' : 'COMPLETED',
    }),
  );
  const ranges = new Map(
    states.map(({ jobId }) => [jobId, [rangeState({ start: -1, end: 0, cursor: -1, note: HOSTILE })]]),
  );
  return sightOf({
    states,
    work: known(workOf({ workers: [WORKER], ranges })),
    ends: known(new Map([['orders', present('orders', [0, 1])]])),
    more: { ages: () => BigInt(NOW_MS - 2_500) },
  });
}

describe('the page for Prometheus', () => {
  it('tells lag by topic and partition, jobs by state, workers and services', async () => {
    const lines = await render(manyJobs(3));
    expect(lines).toContain('tidemark_lag_offsets{topic="orders",partition="0",program="console"} 1');
    expect(lines).toContain('tidemark_lag_seconds{topic="orders",partition="0",program="console"} 2.5');
    expect(lines).toContain('tidemark_jobs{state="RUNNING",program="console"} 2');
    expect(lines).toContain('tidemark_workers_alive{program="console"} 1');
    expect(lines).toContain('tidemark_service_up{service="Kafka",program="console"} 1');
    expect(lines).toContain('tidemark_relay_lag_seconds{program="console"} 0');
  });

  it('L3: 500 jobs add next to no series, and none of their ids and texts is a label', async () => {
    const before = await render(manyJobs(0));
    const after = await render(manyJobs(500));
    expect(after.length - before.length).toBeLessThanOrEqual(20);
    expect(after.filter((line) => /job-\d|script|quoted/.test(line))).toEqual([]);
  });

  it.each([
    ['down', DOWN],
    ['emptied', known(workOf({ followed: new Set(['job-0']) }))],
    [
      'too full to be asked for every job',
      known(workOf({ ranges: new Map([['job-2', [rangeState({ start: -1, end: 0, cursor: 0 })]]]), jobsOmitted: 1 })),
    ],
  ])('L1: with a cursor store that is %s lag and ranges are absent, not 0', async (_, work) => {
    const { states, ends } = manyJobs(3);
    const list = states.kind === 'known' ? [...states.value.values()] : [];
    const page = (await render(sightOf({ states: list, work, ends }))).join('\n');
    expect(page).not.toMatch(/tidemark_(lag_|ranges)/);
    expect(page).toContain('tidemark_jobs{state="RUNNING",program="console"} 2');
  });

  it('L1: what is not known is absent, and comes back', async () => {
    const metrics = createConsoleMetrics('main');
    const names = async (sight: ReturnType<typeof sightOf>) => seriesOf((await metrics.render(sight)).page).join('\n');
    const sight = manyJobs(3);
    const down = { ...sight, states: DOWN, work: DOWN, ends: DOWN, outbox: DOWN };
    expect(await names(sight)).toContain('tidemark_lag_offsets{');
    const page = await names(down);
    expect(page).not.toMatch(/tidemark_(lag_|jobs|workers_alive|ranges|relay_lag)|NaN/);
    expect(page).toContain('tidemark_service_up{service="Redis",program="console"} 0');
    expect(await names(sight)).toContain('tidemark_lag_offsets{');
  });
});
