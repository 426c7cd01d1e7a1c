/** What a cycle works with. */
import type { FloorStore } from '@tidemark/cursors';
import type { JobLog, MarkLog } from '@tidemark/jobs';
import type { LogCluster } from '@tidemark/log';
import type { RetentionPolicy } from './policy.ts';

export interface GuardParts {
  readonly cluster: Pick<LogCluster, 'catalog' | 'openReader'>;
  readonly floors: FloorStore;
  readonly marks: MarkLog;
  readonly jobs: Pick<JobLog, 'states'>;
  readonly policies: readonly RetentionPolicy[];
  /** Who writes the marks: host/process. */
  readonly name: string;
  readonly nowMs: () => number;
}
