/** The faults of a traversal. */
import type { FaultKind } from '../schedule.ts';

/**
 * `disruption`: one at a time, each waits until what it broke works again, because only then can be said what it cost.
 * `pressure`: beside them, at any moment of theirs.
 */
export const TRAVERSAL_FAULTS = [
  { kind: 'worker_killed', track: 'disruption', seconds: 7 },
  { kind: 'worker_stopped', track: 'disruption', seconds: 9 },
  { kind: 'redis_emptied', track: 'disruption', seconds: 5 },
  { kind: 'redis_older', track: 'disruption', seconds: 6 },
  { kind: 'broker_killed', track: 'disruption', seconds: 12 },
  { kind: 'rolling_restart', track: 'disruption', seconds: 9 },
  { kind: 'records_deleted', track: 'disruption', seconds: 7 },
  { kind: 'distributor_killed', track: 'pressure', seconds: 4 },
  { kind: 'partitions_added', track: 'pressure', seconds: 3 },
  { kind: 'slow_handler', track: 'pressure', seconds: 2 },
  { kind: 'failing_handler', track: 'pressure', seconds: 2 },
  { kind: 'hanging_handler', track: 'pressure', seconds: 2 },
] as const satisfies readonly FaultKind[];

export type TraversalFault = (typeof TRAVERSAL_FAULTS)[number]['kind'];
