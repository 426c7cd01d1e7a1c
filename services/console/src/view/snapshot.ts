import type { Sight } from '../collect/collector.ts';
import { jobsView } from './jobs.ts';
import { lagView } from './lag.ts';
import { letterTopicsView } from './letter-groups.ts';
import { relayView } from './relay.ts';
import { retentionView } from './retention.ts';
import type { Snapshot } from './schemas.ts';
import { seriesListView } from './series.ts';
import { statusView } from './status.ts';
import { workersView } from './workers.ts';

export function snapshotView(sight: Sight, names: { readonly namespace: string; readonly relay: string }): Snapshot {
  const lag = lagView(sight);
  const workers = workersView(sight);
  const relay = relayView(sight, names.relay);
  return {
    status: statusView(sight, { namespace: names.namespace, lag, workers, relay }),
    jobs: jobsView(sight),
    lag,
    workers,
    relay,
    retention: retentionView(sight),
    series: seriesListView(sight),
    deadLetters: letterTopicsView(sight),
  };
}
