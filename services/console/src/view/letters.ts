/** Dead letters one by one: rows of a list with the beginning of what they hold, and one with all that a page can show. */
import type { Codec } from '@tidemark/contracts';
import { type DeadLetter, type Shown, shownBytes, shownValue, visibleText } from '@tidemark/control';
import { describeError } from '@tidemark/keyspace';
import {
  HEADER_PREVIEW_CHARACTERS,
  HEADERS_SHOWN_MAX,
  LETTER_TEXT_CHARACTERS_MAX,
  LIST_DECODED_BYTES_MAX,
  LIST_PREVIEW_CHARACTERS,
  VALUE_BASE64_BYTES,
  VALUE_DECODED_BYTES_MAX,
  VALUE_PREVIEW_CHARACTERS,
} from '../limits.ts';
import type { Letter, LetterRow, Preview } from './letter-schemas.ts';
import { cutText, previewOf, previewOfShown } from './previews.ts';
import { bounded, instantOrNull } from './words.ts';

/** What a list keeps of a letter while it is read: small values whole, of large ones the beginning. */
export interface KeptLetter extends Omit<LetterRow, 'value'> {
  readonly valueBytes: Buffer | null;
  readonly value: Preview;
}

export function keepLetter({ record, partition, ...facts }: DeadLetter): KeptLetter {
  const { key, value, offset, timestampMs } = record;
  return {
    partition,
    offset: offset.toString(),
    at: instantOrNull(timestampMs),
    jobId: cutText(visibleText(facts.jobId), LIST_PREVIEW_CHARACTERS),
    handler: cutText(visibleText(facts.handler), LIST_PREVIEW_CHARACTERS),
    faultClass: cutText(visibleText(facts.faultClass), LIST_PREVIEW_CHARACTERS),
    error: cutText(visibleText(facts.error), LIST_PREVIEW_CHARACTERS),
    round: facts.round,
    edit: facts.edit,
    key: previewOf(key, LIST_PREVIEW_CHARACTERS),
    value: previewOf(value, LIST_PREVIEW_CHARACTERS),
    // A slice would keep the whole batch that it was read in.
    valueBytes: value !== null && value.length <= LIST_DECODED_BYTES_MAX ? Buffer.from(value) : null,
  };
}

/** A registry that is down makes a list poorer, and no fault. */
export async function letterRow(codec: Codec, { valueBytes, ...row }: KeptLetter): Promise<LetterRow> {
  if (valueBytes === null) return row;
  const shown = await shownValue(valueBytes, codec).catch((): Shown => shownBytes(valueBytes));
  return { ...row, value: previewOfShown(shown, valueBytes.length, LIST_PREVIEW_CHARACTERS) };
}

export async function letterView(
  codec: Codec,
  names: { readonly topic: string; readonly letterTopic: string },
  letter: DeadLetter,
): Promise<Letter> {
  const { record, partition, origin, edited, timestampMs } = letter;
  const { shown, fault } = await decoded(codec, record.value);
  const headers = bounded(record.headers, HEADERS_SHOWN_MAX);
  const value =
    shown === undefined
      ? previewOf(record.value, VALUE_PREVIEW_CHARACTERS)
      : previewOfShown(shown, record.value?.length ?? 0, VALUE_PREVIEW_CHARACTERS);
  return {
    ...names,
    partition,
    offset: record.offset.toString(),
    at: instantOrNull(record.timestampMs),
    origin: { topic: textOf(origin.topic), partition: origin.partition, offset: origin.offset.toString() },
    originAt: instantOrNull(timestampMs),
    jobId: textOf(letter.jobId),
    handler: textOf(letter.handler),
    faultClass: textOf(letter.faultClass),
    error: textOf(letter.error),
    attempt: letter.attempt,
    round: letter.round,
    form: textOf(letter.form),
    edit: letter.edit,
    edited:
      edited === undefined
        ? null
        : {
            partition: edited.of.partition,
            offset: edited.of.offset.toString(),
            by: textOf(edited.by),
            note: textOf(edited.note),
          },
    key: previewOf(record.key, HEADER_PREVIEW_CHARACTERS),
    value,
    schema: shown !== undefined && shown !== null && 'schema' in shown ? textOf(shown.schema) : null,
    decodeFault: fault,
    base64:
      record.value === null
        ? null
        : {
            text: record.value.subarray(0, VALUE_BASE64_BYTES).toString('base64'),
            isCut: record.value.length > VALUE_BASE64_BYTES,
          },
    correctAs: correctAs(record.value, value),
    headers: headers.rows.map(([name, value]) => ({
      name: textOf(name),
      value: previewOf(value, HEADER_PREVIEW_CHARACTERS),
    })),
    headersOmitted: headers.omitted,
  };
}

/**
 * Whoever corrects a value begins with what is shown of it, in a form that gives the rest back as it is. JSON that was framed
 * has to be framed again, and a text area makes every end of a line a line feed.
 */
function correctAs(bytes: Buffer | null, { kind, text, isCut, isEscaped }: Preview): Letter['correctAs'] {
  if (bytes === null) return null;
  if (!isCut && !isEscaped) {
    // No text begins with the zero byte that a frame begins with.
    const isFramed = bytes[0] === 0;
    if (kind === 'avro' || (kind === 'json' && isFramed)) return 'json';
    if ((kind === 'json' || kind === 'text') && !isFramed && !text.includes('\r')) return 'text';
  }
  return bytes.length > VALUE_BASE64_BYTES ? null : 'base64';
}

/** Undefined: it is too large to be decoded for a page, or nobody can decode it now. */
async function decoded(
  codec: Codec,
  value: Buffer | null,
): Promise<{ readonly shown: Shown | undefined; readonly fault: string | null }> {
  if (value !== null && value.length > VALUE_DECODED_BYTES_MAX) return { shown: undefined, fault: null };
  try {
    return { shown: await shownValue(value, codec), fault: null };
  } catch (error) {
    return { shown: undefined, fault: describeError(error) };
  }
}

function textOf(text: string): string {
  return cutText(visibleText(text), LETTER_TEXT_CHARACTERS_MAX);
}
