import { isLosslessNumber, type LosslessNumber } from 'lossless-json';

/** Parsed JSON whose numbers are still text. */
export type JsonNode =
  | null
  | boolean
  | string
  | LosslessNumber
  | readonly JsonNode[]
  | { readonly [name: string]: JsonNode };

export function isNumberText(node: JsonNode): node is LosslessNumber {
  return isLosslessNumber(node);
}

/** The kind of a value for messages; the value itself may be private. */
export function describeJson(node: JsonNode | undefined): string {
  if (node === undefined) return 'nothing';
  if (node === null) return 'null';
  if (isNumberText(node)) return 'a number';
  if (Array.isArray(node)) return 'an array';
  return typeof node === 'object' ? 'an object' : `a ${typeof node}`;
}

/** A value that does not fit its place; the path grows from the inside out while it passes `within`. */
export class Misfit extends Error {
  readonly #path: string[] = [];
  readonly #reason: string;

  constructor(reason: string) {
    super();
    this.#reason = reason;
    this.message = reason;
  }

  get path(): string {
    return this.#path.join('.');
  }

  prefix(name: string): void {
    this.#path.unshift(name);
    this.message = `${this.path}: ${this.#reason}`;
  }
}

export function misfit(expected: string, found: JsonNode | undefined): never {
  throw new Misfit(`expected ${expected}, found ${describeJson(found)}`);
}

export function within<T>(name: string, convert: () => T): T {
  try {
    return convert();
  } catch (error) {
    if (error instanceof Misfit) error.prefix(name);
    throw error;
  }
}
