/** The faults of a guarded log. */
import type { FaultKind } from '../schedule.ts';

/**
 * `disruption`: one at a time, each waits until work goes on. `guard` and `pressure`: beside them, at any moment of theirs.
 * `floor_broken` is the harness itself deleting what is needed: the auditor must find it.
 */
export const GUARD_FAULTS = [
  { kind: 'worker_killed', track: 'disruption', seconds: 7 },
  { kind: 'distributor_killed', track: 'disruption', seconds: 4 },
  { kind: 'redis_restarted', track: 'disruption', seconds: 5 },
  { kind: 'redis_emptied', track: 'disruption', seconds: 5 },
  { kind: 'redis_older', track: 'disruption', seconds: 6 },
  { kind: 'broker_killed', track: 'disruption', seconds: 12 },
  { kind: 'guard_killed', track: 'guard', seconds: 4 },
  { kind: 'guard_stopped', track: 'guard', seconds: 8 },
  { kind: 'partitions_added', track: 'pressure', seconds: 3 },
  { kind: 'request_races_cut', track: 'pressure', seconds: 12 },
  { kind: 'floor_broken', track: 'planted', seconds: 3, isPlanted: true },
] as const satisfies readonly FaultKind[];

export type GuardFault = (typeof GUARD_FAULTS)[number]['kind'];
