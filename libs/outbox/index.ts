/** The outbox without its database: snapshots, positions, identities and the ports. `./postgres` holds the adapter. */
export type { Bootstrap } from './src/bootstrap.ts';
export {
  type FitQuestion,
  type Fitting,
  faultsOf,
  fitOf,
  movesOf,
  PARTITIONER,
  type PositionFault,
  type PositionFit,
  rebaseCommand,
  type TopicMove,
} from './src/fit.ts';
export { checkIdentity, type DatabaseState, type IdentityVerdict, type TimelineFork } from './src/identity.ts';
export {
  BOOTSTRAP_BACKLOG_ROWS,
  BOOTSTRAP_PATIENCE_MS,
  BOOTSTRAP_ROWS,
  BOOTSTRAP_ROWS_MAX,
} from './src/limits.ts';
export type { Lsn } from './src/lsn.ts';
export type {
  Backlog,
  Blocker,
  CleanedUp,
  FoundPartition,
  KeyPart,
  KeyTail,
  LeaseAnswer,
  Outbox,
  OutboxHints,
  OutboxReader,
  Page,
  PageLimits,
  RebaseStore,
  RelayLease,
  RetryWish,
} from './src/ports.ts';
export {
  type DatabaseIdentity,
  type OpenWindow,
  type OutboxPosition,
  type PublishedPlace,
  positionAfter,
  sameDatabase,
  startPosition,
  type TakenSnapshot,
} from './src/position.ts';
export {
  acceptedCounts,
  type Consents,
  countFates,
  type Evidence,
  type FateCounts,
  fatesOf,
  needsComparing,
  type Obstacle,
  planRebase,
  type RebasePlan,
  type RebaseRow,
  RowFate,
  skippedRows,
  sumFates,
  type TopicFates,
  UnknownRows,
} from './src/rebase.ts';
export type { OutboxRow } from './src/row.ts';
export {
  follows,
  NOTHING_VISIBLE,
  parseSnapshot,
  type Snapshot,
  type SnapshotWindow,
  snapshotText,
} from './src/snapshot.ts';
export { positionOfRecord, positionTopicOf, recordFieldsOf } from './src/stored-position.ts';
