/** What a JobCommand may order, and of whom. What an order does in which state is the rule of `transition`. */
import type { JobCommand } from '@tidemark/contracts';

export const CommandName = {
  /** Chunks in flight are settled, up to a deadline. */
  pause: 'pause',
  resume: 'resume',
  cancel: 'cancel',
  /** Paused at once: nobody is waited for. */
  kill: 'kill',
  /** Of the hold for an audit, also of a job that has ended. */
  release: 'release',
} as const;
export type CommandName = (typeof CommandName)[keyof typeof CommandName];

/** Instead of a job id: every job that has not ended. */
export const ALL_JOBS = '*';

/** Whether it concerns every job, those too whose requests are still to be pinned. Of the orders only kill may. */
export function isForAll({ jobId, command }: Pick<JobCommand, 'jobId' | 'command'>): boolean {
  return jobId === ALL_JOBS && command === CommandName.kill;
}
