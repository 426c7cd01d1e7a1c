/** What the operations of this library work on. Each operation names the parts it needs; a caller may open fewer. */
import type { Codec } from '@tidemark/contracts';
import type { CursorStore, Schedule } from '@tidemark/cursors';
import type { JobLog } from '@tidemark/jobs';
import type { LogCluster } from '@tidemark/log';

export interface ControlParts {
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly jobLog: JobLog;
  readonly store: CursorStore;
  readonly schedule: Schedule;
  readonly namespace: string;
}
