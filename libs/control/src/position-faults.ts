/** Whether a relay could go on from its position, found without starting one. */
import type { RelayPosition } from '@tidemark/contracts';
import { TidemarkError } from '@tidemark/keyspace';
import {
  faultsOf,
  fitOf,
  movesOf,
  type Outbox,
  type PositionFault,
  positionOfRecord,
  type Snapshot,
} from '@tidemark/outbox';
import type { ControlParts } from './parts.ts';

/** Empty when nothing stands in its way. */
export async function positionFaults(
  { cluster }: Pick<ControlParts, 'cluster'>,
  outbox: Pick<Outbox, 'reader'>,
  { position, witness }: { readonly position: RelayPosition | undefined; readonly witness: Snapshot | undefined },
): Promise<readonly PositionFault[]> {
  const counts = position?.partitionCounts ?? {};
  const found = await Promise.all(Object.keys(counts).map((topic) => cluster.catalog.describe(topic)));
  const now = new Map(found.flatMap((topic) => (topic === undefined ? [] : [[topic.topic, topic.partitionCount]])));
  const stored = position === undefined ? undefined : positionOfRecord(position);
  try {
    const fit = fitOf({ stored, witness, now: await outbox.reader.state() });
    return faultsOf({ fit, moves: movesOf(counts, now), partitioner: position?.partitioner });
  } catch (error) {
    if (error instanceof TidemarkError && error.code === 'STANDBY') return [error];
    throw error;
  }
}
