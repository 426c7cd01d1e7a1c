/** How the parameters of a built-in handler are read: every fault at once, and a misspelt name is one. */
import { LetterParameter } from '../belonging.ts';

export type Parameters = Readonly<Record<string, string>>;

export type Read<Settings> =
  | { readonly kind: 'settings'; readonly settings: Settings }
  | { readonly kind: 'faults'; readonly faults: readonly string[] };

const LETTER_PARAMETERS: ReadonlySet<string> = new Set(Object.values(LetterParameter));

/** A job over dead letters says with parameters of its own which letters it is about. */
export function unknownParameters(
  handler: string,
  parameters: Parameters,
  { known, prefix }: { readonly known: readonly string[]; readonly prefix?: string },
): readonly string[] {
  const isKnown = (name: string): boolean =>
    known.includes(name) || LETTER_PARAMETERS.has(name) || (prefix !== undefined && name.startsWith(prefix));
  const names = [...known, ...(prefix === undefined ? [] : [`${prefix}NAME`])];
  return Object.keys(parameters)
    .filter((name) => !isKnown(name))
    .map((name) => `handler ${handler} has no parameter ${JSON.stringify(name)}; it has ${names.join(', ')}`);
}

/** The word that is asked for, or the first one; a fault when it is none of them. */
export function oneOf<Word extends string>(
  name: string,
  text: string | undefined,
  words: readonly [Word, ...Word[]],
): { readonly word: Word; readonly faults: readonly string[] } {
  const word = text === undefined ? words[0] : words.find((known) => known === text);
  if (word !== undefined) return { word, faults: [] };
  return { word: words[0], faults: [`parameter ${name} ${JSON.stringify(text)} is none of: ${words.join(', ')}`] };
}
