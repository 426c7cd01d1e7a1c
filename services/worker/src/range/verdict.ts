/**
 * What an answer of the reader means for a range. Only two things end a range without its last record: the log lost
 * offsets that the range needs, or the log is not the one that was pinned. Everything else is waited for.
 */

import type { LostInterval } from '@tidemark/cursors';
import { OnLost, openTransactionNote } from '@tidemark/jobs';
import { assertNever, type Offset, offsetMin } from '@tidemark/keyspace';
import type { Chunk, ReadAnswer } from '@tidemark/log';
import { SUSPICIONS_MAX } from '../limits.ts';

/** The leading word of a stopped range's note, which becomes the reason of its job: operators look for it. */
export const StopCode = {
  offsetsLost: 'OFFSETS_LOST',
  logTruncated: 'LOG_TRUNCATED',
  topicNotFound: 'TOPIC_NOT_FOUND',
  topicRecreated: 'TOPIC_RECREATED',
  unreadable: 'UNREADABLE',
} as const;
export type StopCode = (typeof StopCode)[keyof typeof StopCode];

export type Verdict =
  | { readonly kind: 'handle'; readonly chunk: Chunk }
  /** Nothing can be read yet; the note says why. */
  | { readonly kind: 'wait'; readonly note: string }
  /** Looks like the end of the range, but once more: right after a broker's restart its answers may be behind. */
  | { readonly kind: 'ask again' }
  /** The job opted into loss: what is lost is counted, up to `to`, and it goes on behind it. */
  | { readonly kind: 'pass lost'; readonly to: Offset }
  | { readonly kind: 'stop'; readonly note: string; readonly lost: readonly LostInterval[] };

export interface ReadSituation {
  readonly topic: string;
  readonly cursor: Offset;
  readonly end: Offset;
  readonly onLost: OnLost;
  /** Suspicious answers in a row before this one. */
  readonly suspicions: number;
}

export function verdictOf(answer: ReadAnswer, situation: ReadSituation): Verdict {
  switch (answer.kind) {
    case 'chunk':
      return { kind: 'handle', chunk: answer.chunk };
    case 'open transaction':
      return { kind: 'wait', note: openTransactionNote(answer.lastStableOffset) };
    case 'lost':
      return verdictOnLoss(answer, situation);
    case 'end of log':
    case 'log went back':
      return suspect(
        situation,
        `${StopCode.logTruncated}: the log ends at ${answer.highWatermark}, the window reaches to ${situation.end}`,
      );
    case 'topic missing':
      return suspect(situation, `${StopCode.topicNotFound}: topic ${situation.topic} is not there any more`);
    case 'topic recreated':
      return suspect(
        situation,
        `${StopCode.topicRecreated}: topic ${situation.topic} is another one now (${answer.topicId})`,
      );
    case 'unreadable':
      return suspect(situation, `${StopCode.unreadable}: offset ${answer.offset}: ${answer.message}`);
    default:
      return assertNever(answer);
  }
}

function verdictOnLoss(answer: { readonly first: Offset; readonly last: Offset }, situation: ReadSituation): Verdict {
  const last = offsetMin(answer.last, situation.end);
  if (situation.onLost === OnLost.skip) return { kind: 'pass lost', to: last };
  return {
    kind: 'stop',
    note: `${StopCode.offsetsLost}: ${answer.first}-${last}`,
    lost: [{ first: answer.first, last }],
  };
}

function suspect(situation: ReadSituation, note: string): Verdict {
  return situation.suspicions < SUSPICIONS_MAX - 1 ? { kind: 'ask again' } : { kind: 'stop', note, lost: [] };
}
