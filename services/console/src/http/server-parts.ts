/** What the routes work on. */
import type { Logger } from '@tidemark/observability';
import type { Collector } from '../collect/collector.ts';
import type { JobDetails } from '../collect/job-details.ts';
import type { ConsoleMetrics } from '../metrics/console-metrics.ts';

export interface ServerParts {
  readonly collector: Collector;
  readonly details: JobDetails;
  readonly metrics: ConsoleMetrics;
  readonly namespace: string;
  readonly relay: string;
  readonly logger: Logger;
}
