/** Ends every exhaustive switch: a new member of a closed set then fails the type check instead of falling through. */
export function assertNever(value: never): never {
  throw new Error(`unreachable case: ${JSON.stringify(value)}`);
}
