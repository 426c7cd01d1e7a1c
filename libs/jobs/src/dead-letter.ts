/**
 * The headers of a dead letter: those that the record had, and one block of ours that says where it came from and why. The
 * block has the same size however often the record comes back, because that of an earlier round is replaced and the error
 * text is cut.
 */
import type { RecordHeaders } from '@tidemark/log';
import { DEAD_LETTER_ERROR_BYTES_MAX } from './limits.ts';

const PREFIX = 'tm_dlq_';

export interface DeadLetterOrigin {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
}

/** `fields` are what the room that gave up on the record knows beside. */
export function deadLetterHeaders(letter: {
  readonly headers: RecordHeaders;
  readonly origin: DeadLetterOrigin;
  readonly fields: Readonly<Record<string, string>>;
  readonly error: string;
}): RecordHeaders {
  const { topic, partition, offset } = letter.origin;
  const texts = { topic, partition: String(partition), offset: String(offset), ...letter.fields };
  return [
    ...withoutBlock(letter.headers),
    ...Object.entries(texts).map(([name, text]) => [`${PREFIX}${name}`, Buffer.from(text)] as const),
    [`${PREFIX}error`, cutText(letter.error, DEAD_LETTER_ERROR_BYTES_MAX)],
  ];
}

/** The headers that the record had before anybody gave up on it. */
export function withoutBlock(headers: RecordHeaders): RecordHeaders {
  return headers.filter(([name]) => !name.startsWith(PREFIX));
}

/** The headers of a corrected copy of a letter, which stands in its place from then on: its block, and what was done to it. */
export function editedHeaders(
  headers: RecordHeaders,
  edit: {
    readonly number: number;
    readonly of: Omit<DeadLetterOrigin, 'topic'>;
    readonly by: string;
    readonly note: string;
  },
): RecordHeaders {
  const texts = { edit: String(edit.number), edit_of: placeText(edit.of), edit_by: edit.by, edit_note: edit.note };
  return [
    ...headers.filter(([name]) => !(name.startsWith(PREFIX) && name.slice(PREFIX.length) in texts)),
    ...Object.entries(texts).map(
      ([name, text]) => [`${PREFIX}${name}`, cutText(text, DEAD_LETTER_ERROR_BYTES_MAX)] as const,
    ),
  ];
}

/** A place as people write it, `PARTITION:OFFSET`. */
export function placeText({ partition, offset }: Omit<DeadLetterOrigin, 'topic'>): string {
  return `${partition}:${offset}`;
}

/** What the block of a dead letter says. Letters of one record and job are told apart by nothing: a crash may write one twice. */
export interface DeadLetterFacts {
  readonly origin: DeadLetterOrigin;
  /** What the job read: the record itself, or an earlier letter of it. */
  readonly source: Omit<DeadLetterOrigin, 'topic'>;
  /** How often the record was dead-lettered by now. */
  readonly round: number;
  readonly jobId: string;
  readonly handler: string;
  /** Of the record itself; undefined when the block has none. */
  readonly timestampMs: bigint | undefined;
  readonly attempt: number;
  /** data, transient or timeout. */
  readonly faultClass: string;
  readonly error: string;
  /** `pointer`: the record was too large for the topic, so only its place is here. */
  readonly form: string;
  /** Of the topic that the record was read from: one that was created again under its name has another. Older letters have none. */
  readonly topicId: string | undefined;
  /** How often the record was corrected by now; 0 = it is as it was. Of the letters of a record only the most corrected count. */
  readonly edit: number;
  /** The letter that this one is a corrected copy of, and who wrote it; undefined for a letter that a worker wrote. */
  readonly edited:
    | { readonly of: Omit<DeadLetterOrigin, 'topic'>; readonly by: string; readonly note: string }
    | undefined;
}

/** Undefined for a record without a whole block, which nobody here has written. */
export function deadLetterFacts(headers: RecordHeaders): DeadLetterFacts | undefined {
  const texts = new Map(headers.map(([name, value]) => [name, value === null ? '' : value.toString()]));
  const field = (name: string): string => texts.get(`${PREFIX}${name}`) ?? '';
  const place = placeOf(field('partition'), field('offset'));
  if (field('topic') === '' || place === undefined) return undefined;
  return {
    origin: { topic: field('topic'), ...place },
    source: placeOf(field('letter_partition'), field('letter_offset')) ?? place,
    round: NUMBER.test(field('round')) ? Number(field('round')) : 1,
    jobId: field('job'),
    handler: field('handler'),
    timestampMs: /^-?\d{1,19}$/.test(field('timestamp')) ? BigInt(field('timestamp')) : undefined,
    attempt: NUMBER.test(field('attempt')) ? Number(field('attempt')) : 0,
    faultClass: field('class'),
    error: field('error'),
    form: field('form'),
    topicId: field('topic_id') === '' ? undefined : field('topic_id'),
    edit: NUMBER.test(field('edit')) ? Number(field('edit')) : 0,
    edited: editedOf(field),
  };
}

function editedOf(field: (name: string) => string): DeadLetterFacts['edited'] {
  const [partition = '', offset = ''] = field('edit_of').split(':');
  const of = placeOf(partition, offset);
  return of && { of, by: field('edit_by'), note: field('edit_note') };
}

const NUMBER = /^\d{1,19}$/;
const PARTITION_MAX = 2 ** 31 - 1;
const LONG_MAX = 2n ** 63n - 1n;

/** Anybody may write such headers: what is no place of a log must not come further than here. */
function placeOf(partition: string, offset: string): Omit<DeadLetterOrigin, 'topic'> | undefined {
  if (!NUMBER.test(partition) || !NUMBER.test(offset)) return undefined;
  if (Number(partition) > PARTITION_MAX || BigInt(offset) > LONG_MAX) return undefined;
  return { partition: Number(partition), offset: BigInt(offset) };
}

/** Cuts at a character, not inside one: a continuation byte of UTF-8 is 10xxxxxx. */
function cutText(text: string, bytesMax: number): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length <= bytesMax) return bytes;
  let length = bytesMax;
  while (length > 0 && ((bytes[length] ?? 0) & 0xc0) === 0x80) length -= 1;
  return bytes.subarray(0, length);
}
