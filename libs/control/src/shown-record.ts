/**
 * Bytes for people and programs, so that null, nothing, the text "null" and bytes that are no text are four different
 * things: null; {"text":""}; {"text":"null"}; {"base64":"AP/+"}. A decoded value is {"schema":…,"avro":…}, and one that
 * is JSON text (its own, or before Avro) {"json":…} with its digits as they were.
 */
import { type Codec, carriedJson, jsonText, RawJson } from '@tidemark/contracts';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';

export type Shown =
  | null
  | { readonly text: string }
  | { readonly base64: string }
  | { readonly json: RawJson }
  | { readonly schema: string; readonly avro: unknown };

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function shownBytes(bytes: Buffer | null): Shown {
  if (bytes === null) return null;
  try {
    const text = UTF8.decode(bytes);
    // Control characters could move the cursor of a terminal; line ends and tabs are text.
    return hasControlCharacters(text) ? { base64: bytes.toString('base64') } : { text };
  } catch {
    return { base64: bytes.toString('base64') };
  }
}

export async function shownValue(bytes: Buffer | null, codec: Codec): Promise<Shown> {
  if (bytes === null || bytes[0] !== 0 || bytes.length < 5) return shownJson(shownBytes(bytes));
  try {
    const decoded = await codec.decode(bytes);
    const text = carriedJson(decoded);
    if (text === undefined) return { schema: decoded.schema, avro: decoded.value };
    return isJson(text) ? { json: new RawJson(text) } : { text };
  } catch (error) {
    // Bytes that only look framed. A registry that is down is another matter: then nothing can be said.
    if (error instanceof TidemarkError && error.class === ErrorClass.data) return shownBytes(bytes);
    throw error;
  }
}

/** An object or a list is told from the text of one by nobody; all other JSON stays the text that it is. */
function shownJson(shown: Shown): Shown {
  if (shown === null || !('text' in shown) || !/^\s*[[{]/.test(shown.text) || !isJson(shown.text)) return shown;
  return { json: new RawJson(shown.text) };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * JSON text that does to a terminal what it says and nothing else, and is one line: characters that would move its cursor,
 * break the line or turn the direction of the text are written as JSON escapes, so that the value stays the same.
 */
export function harmlessJson(text: string): string {
  // Between tokens JSON has only blanks and line ends; inside its strings these never stand by themselves.
  return visibleText(text.replaceAll(/[\t\n\r]/g, ' '));
}

/** Characters that nobody sees, or that turn the direction of a text, are written out; line ends and tabs stay. */
export function visibleText(text: string): string {
  return text.replaceAll(UNSEEN, escapesOf);
}

const UNSEEN = /(?![\n\r\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function escapesOf(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }).join('');
}

/** For the table: quoted text, so that nothing and the word "null" differ from no value. */
export function shownText(shown: Shown): string {
  if (shown === null) return '(null)';
  if ('text' in shown) return harmlessJson(JSON.stringify(shown.text));
  if ('base64' in shown) return `base64:${shown.base64}`;
  return harmlessJson('json' in shown ? shown.json.text : jsonText(shown.avro));
}

function hasControlCharacters(text: string): boolean {
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (
      (code < 0x20 && character !== '\n' && character !== '\t' && character !== '\r') ||
      (code >= 0x7f && code < 0xa0)
    )
      return true;
  }
  return false;
}
