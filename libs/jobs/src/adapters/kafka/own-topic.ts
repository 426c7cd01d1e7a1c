/**
 * The jobs topic read on from a place, one look at a time. `scanTopic` and `follow` of the log room, which read our other
 * topics, push: the inbox is pulled, because the distributor applies what it was given and says from where to go on, and a
 * gap in it (requests that nobody saw) is an answer to be acted on, not the end of reading.
 */
import {
  assertNever,
  cursorBefore,
  ErrorClass,
  nextOffsetOf,
  type Offset,
  sleep,
  TidemarkError,
} from '@tidemark/keyspace';
import { describeReadRefusal, type LogReader, type LogRecord, NO_END, type Source } from '@tidemark/log';
import { INBOX_CHUNK_BYTES, INBOX_CHUNK_RECORDS, OPEN_TRANSACTION_POLL_MS } from '../../limits.ts';

export type Look =
  | { readonly kind: 'records'; readonly records: readonly LogRecord[]; readonly nextOffset: Offset }
  | { readonly kind: 'lost'; readonly first: Offset; readonly last: Offset; readonly nextOffset: Offset };

/** The committed records from an offset on, or none after `waitMs`. */
export async function lookFrom(options: {
  readonly reader: LogReader;
  readonly source: Source;
  readonly from: Offset;
  readonly waitMs: number;
  readonly signal: AbortSignal;
}): Promise<Look> {
  const { reader, source, from, waitMs, signal } = options;
  const limits = { recordsMax: INBOX_CHUNK_RECORDS, bytesMax: INBOX_CHUNK_BYTES, end: NO_END };
  const answer = await reader.read({ source, cursor: cursorBefore(from), waitMs, signal, ...limits });
  switch (answer.kind) {
    case 'chunk':
      return { kind: 'records', records: answer.chunk.records, nextOffset: nextOffsetOf(answer.chunk.end) };
    case 'lost':
      return { kind: 'lost', first: answer.first, last: answer.last, nextOffset: answer.logStartOffset };
    case 'open transaction':
    case 'end of log':
      // The broker held the empty answer back; this pause is for a reader that says so at once.
      await sleep(Math.min(waitMs, OPEN_TRANSACTION_POLL_MS), signal);
      return { kind: 'records', records: [], nextOffset: from };
    case 'log went back':
    case 'topic missing':
    case 'topic recreated':
    case 'unreadable':
      throw ownTopicBroken(source.topic, describeReadRefusal(answer));
    default:
      return assertNever(answer);
  }
}

export function ownTopicBroken(topic: string, what: string): TidemarkError {
  return new TidemarkError({
    code: 'OWN_TOPIC_BROKEN',
    class: ErrorClass.config,
    message: `topic ${topic} is part of the jobs' durable state and can no longer be trusted: ${what}`,
    context: { topic },
  });
}
