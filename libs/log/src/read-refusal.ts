/** Why a reader gave no chunk, in words for people. */
import { assertNever } from '@tidemark/keyspace';
import type { ReadAnswer } from './ports.ts';

export type ReadRefusal = Exclude<ReadAnswer, { readonly kind: 'chunk' }>;

export function describeReadRefusal(refusal: ReadRefusal): string {
  switch (refusal.kind) {
    case 'open transaction':
      return `an open transaction holds the log at ${refusal.lastStableOffset}`;
    case 'end of log':
      return `the log ends at ${refusal.highWatermark}`;
    case 'lost':
      return `offsets ${refusal.first} to ${refusal.last} were removed, the log starts at ${refusal.logStartOffset}`;
    case 'log went back':
      return `the log is shorter than it was, it ends at ${refusal.highWatermark}: was a broker restored from a backup?`;
    case 'topic missing':
      return 'the topic does not exist';
    case 'topic recreated':
      return `the topic was deleted and created again, its id is now ${refusal.topicId}`;
    case 'unreadable':
      return `the batch at ${refusal.offset} cannot be read: ${refusal.message}`;
    default:
      return assertNever(refusal);
  }
}
