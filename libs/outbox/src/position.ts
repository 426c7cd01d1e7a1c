/** How far an outbox has been published. Stored in the same Kafka transaction as the events that it speaks of. */
import type { Lsn } from './lsn.ts';
import { NOTHING_VISIBLE, type Snapshot } from './snapshot.ts';

/** The database cluster and history that snapshots and positions belong to: they mean nothing in another. */
export interface DatabaseIdentity {
  /** Decimal int64, drawn at initdb. */
  readonly systemIdentifier: string;
  /** Raised by every promotion and every recovery to a point in time. */
  readonly timeline: number;
}

/** A window that is begun but not finished: the rows up to and with `place` are published. */
export interface OpenWindow {
  readonly upTo: Snapshot;
  readonly place: bigint;
}

/** What is published: everything visible in the snapshot, and of the window that is begun the rows up to its place. */
export type PublishedPlace = Pick<OutboxPosition, 'snapshot' | 'window'>;

export interface OutboxPosition {
  /** Everything visible in it is published. */
  readonly snapshot: Snapshot;
  readonly window: OpenWindow | undefined;
  /** Nothing that depends on the newest snapshot here was committed before the log was flushed up to this place. */
  readonly walInsertLsn: Lsn;
  readonly identity: DatabaseIdentity;
}

export function startPosition(identity: DatabaseIdentity): OutboxPosition {
  return { snapshot: NOTHING_VISIBLE, window: undefined, walInsertLsn: '0/0', identity };
}

export interface TakenSnapshot {
  readonly snapshot: Snapshot;
  readonly walInsertLsn: Lsn;
  /** Who answered: a connection that was replaced may lead to another server. */
  readonly identity: DatabaseIdentity;
}

/** The position after a page of a window: inside it, or, when the page was its last, at its end. */
export function positionAfter(
  position: OutboxPosition,
  taken: TakenSnapshot,
  page: { readonly place: bigint; readonly isLast: boolean },
): OutboxPosition {
  const { walInsertLsn, identity } = taken;
  if (page.isLast) return { snapshot: taken.snapshot, window: undefined, walInsertLsn, identity };
  return { snapshot: position.snapshot, window: { upTo: taken.snapshot, place: page.place }, walInsertLsn, identity };
}

export function sameDatabase(a: DatabaseIdentity, b: DatabaseIdentity): boolean {
  return a.systemIdentifier === b.systemIdentifier && a.timeline === b.timeline;
}
