/**
 * The page for Prometheus, from what the last round saw: a scrape asks no service of its own. What is not known is absent.
 *
 * Beside the shared table there are numbers that only somebody with a view of the whole can tell. Their labels are topic
 * and partition, which people create and which are bounded here; never a job, a key, or a text.
 */
import { aliveWorkers } from '@tidemark/cursors';
import { createMetricSet, metricTable } from '@tidemark/observability';
import { Gauge, Registry } from 'prom-client';
import type { Sight } from '../collect/collector.ts';
import { knownValue } from '../collect/feed.ts';
import { PARTITIONS_SHOWN_MAX } from '../limits.ts';
import { countsByState } from '../view/jobs.ts';
import { trackedLags } from '../view/lag.ts';
import { countRanges } from '../view/ranges.ts';
import { relayView } from '../view/relay.ts';
import { servicesView } from '../view/status.ts';

export interface ConsoleMetrics {
  render(sight: Sight): Promise<{ readonly contentType: string; readonly page: string }>;
}

export function createConsoleMetrics(relay: string): ConsoleMetrics {
  const shared = createMetricSet({ program: 'console', withProcess: true });
  const registry = new Registry();
  registry.setDefaultLabels({ program: 'console' });
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
    new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] });

  const lagOffsets = gauge(
    'tidemark_lag_offsets',
    'Offsets between the lowest cursor of the active jobs and the end of the log.',
    PLACE,
  );
  const lagSeconds = gauge(
    'tidemark_lag_seconds',
    'Age of the oldest record that an active job has not settled.',
    PLACE,
  );
  const workers = gauge('tidemark_workers_alive', 'Workers that announced themselves lately.');
  const ranges = gauge('tidemark_ranges', 'Ranges of active jobs by what happens to them.', ['state']);
  const services = gauge('tidemark_service_up', 'Whether a service answers the console.', ['service']);
  const seen = gauge('tidemark_console_seen_timestamp_seconds', 'When cursors were last read.');

  function fill(sight: Sight): void {
    registry.resetMetrics();
    for (const metric of [lagOffsets, lagSeconds, workers, ranges, services, seen]) metric.remove({});
    for (const { name, state } of servicesView(sight))
      if (state !== 'unknown') services.set({ service: name }, state === 'up' ? 1 : 0);
    const active = trackedLags(sight).filter(({ track }) => track.isActive);
    for (const { track, lag } of active.slice(0, PARTITIONS_SHOWN_MAX)) {
      const place = { topic: track.topic, partition: String(track.partition) };
      // A job that nobody can see may be further back: what it would be at least is no measurement.
      if (track.mayBeLower) continue;
      if (lag.offsets !== undefined) lagOffsets.set(place, Number(lag.offsets));
      if (lag.ageMs !== undefined) lagSeconds.set(place, lag.ageMs / 1000);
    }
    if (sight.work.kind === 'unknown') return;
    const { value: work, atMs } = sight.work;
    workers.set(aliveWorkers(work.workers, work.storeNowMs).length);
    seen.set(atMs / 1000);
    if (sight.states.kind === 'unknown' || sight.tracks.jobsUnknown.length > 0) return;
    const { total: _, ...counts } = countRanges([...work.ranges.values()].flat(), work.storeNowMs);
    for (const [state, count] of Object.entries(counts)) ranges.set({ state }, count);
  }

  function fillShared(sight: Sight): void {
    const states = knownValue(sight.states);
    const counts = states === undefined ? undefined : countsByState(states.values());
    for (const state of JOB_STATES)
      shared.metrics.jobs.set(counts === undefined ? undefined : (counts[state] ?? 0), state);
    shared.metrics.relayLagSeconds.set(relayView(sight, relay).lagSeconds ?? undefined);
  }

  return {
    async render(sight) {
      fill(sight);
      fillShared(sight);
      const own = await registry.metrics();
      const { contentType, page } = await shared.render();
      return { contentType, page: withoutUnknown(`${page}\n${own}`) };
    },
  };
}

const PLACE = ['topic', 'partition'];

const JOB_STATES = metricTable.jobs.label.values;

/** The client prints means of nothing as `Nan`; here what is not known is absent. */
function withoutUnknown(page: string): string {
  return page.replaceAll(/^[^#\n].* nan\n/gim, '');
}
