/** For tests on a real Postgres: an outbox of one's own, writers that interleave at random and what judges them, and a reader that takes everything. */

export { createTableOfEveryType, type TypedColumn } from './every-type.ts';
export {
  checkInterleaving,
  type Delivered,
  type DeliveredRow,
  type Delivery,
  describeFaults,
  type Fault,
  type InterleavingRun,
  judge,
  type Scene,
  type StandingRow,
  type TrueRow,
  topicsOf,
} from './interleaving/index.ts';
export { type RandomWriters, runRandomWriters } from './random-writers.ts';
export { readAll } from './read-all.ts';
export { openTestOutbox, type TestOutbox } from './test-outbox.ts';
