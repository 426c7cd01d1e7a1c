/** Is the database that answers the one that a stored position speaks of, and is it not older than the position? */
import { type Lsn, lsnValue } from './lsn.ts';
import type { DatabaseIdentity, OutboxPosition } from './position.ts';
import { follows, type Snapshot, snapshotText } from './snapshot.ts';

/** What the database says of itself at one moment. */
export interface DatabaseState {
  readonly identity: DatabaseIdentity;
  readonly snapshot: Snapshot;
  readonly walInsertLsn: Lsn;
  /** A row of the outbox names a transaction that this cluster has not begun yet: it was copied here from another. */
  readonly hasRowsFromTheFuture: boolean;
  /** Where the timeline branched off the one before; undefined when the server does not let us look. */
  readonly forks: readonly TimelineFork[] | undefined;
}

/** `timeline` ended at `endLsn`, and the next one began there. */
export interface TimelineFork {
  readonly timeline: number;
  readonly endLsn: Lsn;
}

export type IdentityVerdict =
  | { readonly kind: 'same' }
  /** A promoted server that has everything the position depends on. */
  | { readonly kind: 'promoted'; readonly from: number; readonly to: number }
  | { readonly kind: 'foreign'; readonly reason: string };

export function checkIdentity(position: OutboxPosition, now: DatabaseState): IdentityVerdict {
  const { identity, walInsertLsn } = position;
  if (identity.systemIdentifier !== now.identity.systemIdentifier) {
    return foreign(
      `the position belongs to database cluster ${identity.systemIdentifier}, this is ${now.identity.systemIdentifier}`,
    );
  }
  const newest = position.window?.upTo ?? position.snapshot;
  if (!follows(newest, now.snapshot)) {
    return foreign(
      `the position knows transactions up to ${newest.xmax}, the database only up to ${now.snapshot.xmax} (${snapshotText(now.snapshot)}): it was restored to an older state`,
    );
  }
  if (lsnValue(now.walInsertLsn) < lsnValue(walInsertLsn)) {
    return foreign(
      `the position depends on WAL up to ${walInsertLsn}, the database is at ${now.walInsertLsn}: it was restored to an older state`,
    );
  }
  if (now.hasRowsFromTheFuture) {
    return foreign(
      'the outbox holds rows of transactions that this database has not begun yet: its rows were copied from another',
    );
  }
  if (identity.timeline === now.identity.timeline) return { kind: 'same' };
  return checkTimeline(position, now);
}

function checkTimeline({ identity, walInsertLsn }: OutboxPosition, now: DatabaseState): IdentityVerdict {
  const change = `the database went from timeline ${identity.timeline} to ${now.identity.timeline}`;
  if (now.forks === undefined)
    return foreign(`${change}, and its history cannot be read (the relay's role needs pg_read_server_files)`);
  const fork = now.forks.find((candidate) => candidate.timeline === identity.timeline);
  if (fork === undefined) return foreign(`${change}, which does not descend from it`);
  if (lsnValue(fork.endLsn) < lsnValue(walInsertLsn)) {
    return foreign(
      `${change} at ${fork.endLsn}, before ${walInsertLsn}, up to which events were published: what followed was lost`,
    );
  }
  return { kind: 'promoted', from: identity.timeline, to: now.identity.timeline };
}

function foreign(reason: string): IdentityVerdict {
  return { kind: 'foreign', reason };
}

/** Reads the text of a `.history` file: one line a fork, `timeline<TAB>LSN<TAB>reason`. */
export function parseTimelineHistory(text: string): readonly TimelineFork[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*(\d+)\s+([0-9A-Fa-f]+\/[0-9A-Fa-f]+)/.exec(line);
    return match?.[1] === undefined || match[2] === undefined ? [] : [{ timeline: Number(match[1]), endLsn: match[2] }];
  });
}
