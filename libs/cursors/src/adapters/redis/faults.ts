/** What an error of the client or the server means for a call. Total: whatever is not known is a bug. */
import { describeError } from '@tidemark/keyspace';

export const FaultKind = {
  /** The connection or the server is not there now; the same call may succeed in a moment. */
  passing: 'passing',
  /** The server lost its script cache. */
  scriptUnknown: 'scriptUnknown',
  /** User, password or permissions are wrong: a person must act. */
  denied: 'denied',
  /** Asking again gives the same answer. */
  lasting: 'lasting',
} as const;
export type FaultKind = (typeof FaultKind)[keyof typeof FaultKind];

/** First words of error replies that time or a person cures. MOVED and ASK come while a cluster moves slots. */
const PASSING_REPLIES = new Set([
  'READONLY',
  'LOADING',
  'OOM',
  'CLUSTERDOWN',
  'MASTERDOWN',
  'TRYAGAIN',
  'BUSY',
  'NOREPLICAS',
  'MISCONF',
  'MOVED',
  'ASK',
  'UNBLOCKED',
]);

const DENYING_REPLIES = new Set(['NOAUTH', 'WRONGPASS', 'NOPERM']);

export function faultOf(error: unknown): FaultKind {
  if (!(error instanceof Error)) return FaultKind.lasting;
  // Error replies carry this name; every other error of the client is about the connection.
  if (error.name !== 'ReplyError') return FaultKind.passing;
  const text = describeError(error);
  if (text.startsWith('NOSCRIPT')) return FaultKind.scriptUnknown;
  const word = /^[A-Z]+/.exec(text)?.[0] ?? '';
  if (DENYING_REPLIES.has(word)) return FaultKind.denied;
  return PASSING_REPLIES.has(word) ? FaultKind.passing : FaultKind.lasting;
}
