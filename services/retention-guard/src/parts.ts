/** What a cycle works with. */
import type { FloorStore } from '@tidemark/cursors';
import type { JobLog, MarkLog } from '@tidemark/jobs';
import type { LogCluster } from '@tidemark/log';
import type { GuardedGroups } from './groups.ts';
import type { HoldLimits } from './hold.ts';
import type { RetentionPolicy } from './policy.ts';

export interface GuardParts {
  readonly cluster: Pick<LogCluster, 'catalog' | 'openReader'>;
  readonly floors: FloorStore;
  readonly marks: MarkLog;
  readonly jobs: Pick<JobLog, 'jobsAndSeries'>;
  readonly policies: readonly RetentionPolicy[];
  /** Whose committed offsets hold a topic beside the jobs; none when left out. */
  readonly groups?: GuardedGroups | undefined;
  /** How long a job may hold a topic against its policy; for ever and silently when left out. */
  readonly holds?: HoldLimits | undefined;
  /** True: settings that let the broker cut are set to ours. Else they are only reported. */
  readonly repairs?: boolean | undefined;
  /** Who writes the marks: host/process. */
  readonly name: string;
  readonly nowMs: () => number;
}
