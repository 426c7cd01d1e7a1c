/** Named places between two effects, where a test may stop or kill a distributor. In production nothing listens. */
export type Step =
  | 'pin.described'
  | 'pin.ends-read'
  | 'pin.starts-read'
  | 'pin.reserved'
  | 'pin.rechecked'
  | 'job.before-commit'
  | 'job.committed'
  | 'job.confirmed'
  | 'job.accepted'
  | 'job.installed'
  | 'job.enlisted'
  | 'series.committed'
  | 'series.deleted'
  | 'suspend.halted'
  | 'suspend.committed'
  | 'drain.begun'
  | 'drain.set'
  | 'drain.halted'
  | 'pause.committed'
  | 'kill.halted'
  | 'kill.series-stopped'
  | 'resume.committed'
  | 'split.done'
  | 'hold.committed'
  | 'end.committed'
  | 'end.withdrawn'
  | 'end.keys-removed'
  | 'removal.planned'
  | 'removal.cleared'
  | 'removal.committed'
  | 'restore.begun'
  | 'restore.epoch-written'
  | 'restore.proven';

export type OnStep = (step: Step) => Promise<void>;

export const noSteps: OnStep = () => Promise.resolve();
