/** JSON as we write it for others: 64-bit numbers are strings, and text that is JSON already is taken over digit by digit. */
import { type Decoded, SchemaName } from './ports.ts';

/** Stands for a JSON text inside a value that is written as JSON. */
export class RawJson {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A decoded value as JSON. One that was JSON text before it was Avro comes out as that text, digit by digit. */
export function decodedText(decoded: Decoded): string {
  return carriedJson(decoded) ?? jsonText(decoded.value);
}

/** The JSON text that a value was before it was Avro; undefined for all others. */
export function carriedJson({ schema, value }: Decoded): string | undefined {
  if (schema !== SchemaName.jsonValue || typeof value !== 'object' || value === null) return undefined;
  return 'json' in value && typeof value.json === 'string' ? value.json : undefined;
}

export function jsonText(value: unknown): string {
  return textOf(value) ?? 'null';
}

/** Undefined for what has no JSON: a field with it is left out, as JSON.stringify does it. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'bigint') return `"${value}"`;
  if (value instanceof RawJson) return value.text;
  if (Buffer.isBuffer(value)) return JSON.stringify({ base64: value.toString('base64') });
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).flatMap(([name, field]) => {
      const text = textOf(field);
      return text === undefined ? [] : [`${JSON.stringify(name)}:${text}`];
    });
    return `{${fields.join(',')}}`;
  }
  return JSON.stringify(value) as string | undefined;
}
