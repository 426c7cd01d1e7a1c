/**
 * Bytes for people and programs, so that null, nothing, the text "null" and bytes that are no text are four different
 * things: null; {"text":""}; {"text":"null"}; {"base64":"AP/+"}. A decoded value is {"schema":…,"avro":…}, and one that
 * was JSON text before Avro {"json":…} with its digits as they were.
 */
import { type Codec, jsonText, RawJson, SchemaName } from '@tidemark/contracts';
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
  if (bytes === null || bytes[0] !== 0 || bytes.length < 5) return shownBytes(bytes);
  try {
    const { schema, value } = await codec.decode(bytes);
    if (schema === SchemaName.jsonValue && isJsonRecord(value)) return { json: new RawJson(value.json) };
    return { schema, avro: value };
  } catch (error) {
    // Bytes that only look framed. A registry that is down is another matter: then nothing can be said.
    if (error instanceof TidemarkError && error.class === ErrorClass.data) return shownBytes(bytes);
    throw error;
  }
}

/** For the table: quoted text, so that nothing and the word "null" differ from no value. */
export function shownText(shown: Shown): string {
  if (shown === null) return '(null)';
  if ('text' in shown) return JSON.stringify(shown.text);
  if ('base64' in shown) return `base64:${shown.base64}`;
  return 'json' in shown ? shown.json.text : jsonText(shown.avro);
}

function isJsonRecord(value: unknown): value is { readonly json: string } {
  return typeof value === 'object' && value !== null && 'json' in value && typeof value.json === 'string';
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
