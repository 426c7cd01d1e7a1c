/** What the runs of a chunk and of a batch of parked records leave to those who know: what may start, and what comes after a fault. */

export type FaultClass = 'transient' | 'timeout';

export interface FailedAttempt {
  /** Counted from 1, over everything that was tried with the record. */
  readonly attempt: number;
  readonly faultClass: FaultClass;
}

export interface AttemptPolicy {
  /** False while every record may start, with its first attempt: then nothing else is asked, which costs a chunk nothing. */
  readonly isWatching: boolean;
  /** `put aside`: it waits for another record of its key. `full`: it should, and there is no room; nothing new may start. */
  start(index: number): 'start' | 'put aside' | 'full';
  attemptsBefore(index: number): number;
  /** Milliseconds until the next attempt in place; undefined when none follows. */
  pauseMs(index: number, failed: FailedAttempt): number | undefined;
  /** None in place any more. */
  putOff(index: number, failed: FailedAttempt): 'put aside' | 'full' | 'exhausted';
}
