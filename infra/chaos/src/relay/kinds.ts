/** The faults of a relay. */
import type { FaultKind } from '../schedule.ts';

/**
 * `disruption`: one at a time, each waits until rows are published again.
 * `pressure`: beside them, at any moment of theirs.
 */
export const RELAY_FAULTS = [
  { kind: 'relay_killed', track: 'disruption', seconds: 5 },
  { kind: 'relay_stopped', track: 'disruption', seconds: 7 },
  { kind: 'relays_restarted', track: 'disruption', seconds: 5 },
  { kind: 'postgres_crashed', track: 'disruption', seconds: 5 },
  { kind: 'postgres_restarted', track: 'disruption', seconds: 5 },
  { kind: 'connections_cut', track: 'disruption', seconds: 2 },
  { kind: 'broker_killed', track: 'disruption', seconds: 12 },
  { kind: 'huge_transaction', track: 'disruption', seconds: 14 },
  { kind: 'oversize_row', track: 'pressure', seconds: 8 },
  { kind: 'transaction_held', track: 'pressure', seconds: 14 },
] as const satisfies readonly FaultKind[];

export type RelayFault = (typeof RELAY_FAULTS)[number]['kind'];
