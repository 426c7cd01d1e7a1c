/** Bytes of any size as the beginning of a text, with their true size: what a page shows is bounded here. Pure. */
import { jsonText } from '@tidemark/contracts';
import { type Shown, shownBytes, visibleText } from '@tidemark/control';
import type { Preview } from './letter-schemas.ts';

const NOTHING: Preview = { kind: 'none', text: '', bytes: 0, isCut: false, isEscaped: false };

/** A character of UTF-8 has four bytes at most. */
const BYTES_PER_CHARACTER = 4;

/** As text where it is one, else in base64. Of what is too large only the beginning is looked at. */
export function previewOf(bytes: Buffer | null, charactersMax: number): Preview {
  if (bytes === null) return NOTHING;
  const head = bytes.subarray(0, charactersMax * BYTES_PER_CHARACTER);
  const whole = head.length === bytes.length ? head : withoutHalfCharacter(head);
  return { ...previewOfShown(shownBytes(whole), bytes.length, charactersMax, whole.length < bytes.length) };
}

export function previewOfShown(shown: Shown, bytes: number, charactersMax: number, isPart = false): Preview {
  const cut = (kind: string, text: string): Preview => {
    const seen = visibleText(text);
    return {
      kind,
      text: cutText(seen, charactersMax),
      bytes,
      isCut: isPart || seen.length > charactersMax,
      isEscaped: seen !== text,
    };
  };
  if (shown === null) return NOTHING;
  if ('text' in shown) return cut('text', shown.text);
  if ('base64' in shown) return cut('binary', shown.base64);
  if ('json' in shown) return cut('json', shown.json.text);
  return cut('avro', jsonText(shown.avro));
}

/** Not between the two halves of one character. */
export function cutText(text: string, charactersMax: number): string {
  const end = text.charCodeAt(charactersMax - 1);
  return text.slice(0, end >= 0xd800 && end < 0xdc00 ? charactersMax - 1 : charactersMax);
}

/** A continuation byte of UTF-8 is 10xxxxxx; what is cut at a place in between would be no text. */
function withoutHalfCharacter(bytes: Buffer): Buffer {
  let start = bytes.length - 1;
  while (start > 0 && bytes.length - start < BYTES_PER_CHARACTER && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return bytes.subarray(0, start);
}
