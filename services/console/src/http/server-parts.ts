/** What the routes work on. */
import type { Logger } from '@tidemark/observability';
import type { Collector } from '../collect/collector.ts';
import type { JobDetails } from '../collect/job-details.ts';
import type { LetterIndex } from '../collect/letter-groups.ts';
import type { ConsoleParts } from '../collect/parts.ts';
import type { ConsoleMetrics } from '../metrics/console-metrics.ts';
import type { Roles } from './roles.ts';

export interface ServerParts {
  readonly collector: Collector;
  readonly details: JobDetails;
  readonly letters: LetterIndex;
  /** For what is asked for once, and for orders. */
  readonly parts: Pick<ConsoleParts, 'cluster' | 'codec' | 'jobLog' | 'namespace' | 'cursors'>;
  readonly roles: Roles;
  readonly metrics: ConsoleMetrics;
  readonly namespace: string;
  readonly relay: string;
  readonly logger: Logger;
}
