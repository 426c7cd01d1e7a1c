import { killRelay, restartRelays, stopRelay } from './faults/relays.ts';
import { holdTransaction, hugeTransaction, oversizeRow } from './faults/rows.ts';
import { crashPostgres, cutConnections, killBroker, restartPostgres } from './faults/services.ts';
import type { RelayFault } from './kinds.ts';
import type { Inject } from './scene.ts';

export const INJECTIONS: Readonly<Record<RelayFault, Inject>> = {
  relay_killed: killRelay,
  relay_stopped: stopRelay,
  relays_restarted: restartRelays,
  postgres_crashed: crashPostgres,
  postgres_restarted: restartPostgres,
  connections_cut: cutConnections,
  broker_killed: killBroker,
  oversize_row: oversizeRow,
  transaction_held: holdTransaction,
  huge_transaction: hugeTransaction,
};
