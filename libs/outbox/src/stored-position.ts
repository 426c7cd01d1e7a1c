/** Where and how a position is stored in Kafka. */
import type { RelayPosition } from '@tidemark/contracts';
import type { OutboxPosition } from './position.ts';
import { parseSnapshot, snapshotText } from './snapshot.ts';

/** The compacted topic of positions; its keys are the names of relays. */
export function positionTopicOf(namespace: string): string {
  return `${namespace}.relay`;
}

/** Those fields of the record that are the position itself. */
type PositionFields = Pick<
  RelayPosition,
  'snapshot' | 'nextSnapshot' | 'place' | 'walInsertLsn' | 'systemIdentifier' | 'timeline'
>;

export function positionOfRecord(record: PositionFields): OutboxPosition {
  const { snapshot, nextSnapshot, place, walInsertLsn, systemIdentifier, timeline } = record;
  return {
    snapshot: parseSnapshot(snapshot),
    window: nextSnapshot === '' ? undefined : { upTo: parseSnapshot(nextSnapshot), place },
    walInsertLsn,
    identity: { systemIdentifier, timeline },
  };
}

export function recordFieldsOf({ snapshot, window, walInsertLsn, identity }: OutboxPosition): PositionFields {
  return {
    snapshot: snapshotText(snapshot),
    nextSnapshot: window === undefined ? '' : snapshotText(window.upTo),
    place: window?.place ?? 0n,
    walInsertLsn,
    ...identity,
  };
}
