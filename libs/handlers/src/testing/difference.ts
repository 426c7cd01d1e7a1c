/** What differs between two states of a sink, for people. */
import { inspect, isDeepStrictEqual } from 'node:util';
import { DIFFERENT_LINES_SHOWN } from './limits.ts';

/** Undefined when both are the same; else the lines that only one of them has, `-` expected and `+` found. */
export function differenceOf(expected: unknown, found: unknown): string | undefined {
  if (isDeepStrictEqual(expected, found)) return undefined;
  const before = linesOf(expected);
  const after = linesOf(found);
  const lines = [...onlyIn(before, after, '-'), ...onlyIn(after, before, '+')];
  // The same lines in another order.
  const told = lines.length > 0 ? lines : [...before.map((line) => `- ${line}`), ...after.map((line) => `+ ${line}`)];
  const rest = told.length - DIFFERENT_LINES_SHOWN;
  return [...told.slice(0, DIFFERENT_LINES_SHOWN), ...(rest > 0 ? [`… and ${rest} more lines`] : [])].join('\n');
}

/** A row of a table is a line, so that a line says which row it is. */
function linesOf(value: unknown): readonly string[] {
  const text = inspect(value, {
    depth: null,
    maxArrayLength: null,
    maxStringLength: null,
    breakLength: 120,
    compact: 1,
    sorted: true,
  });
  return text.split('\n').map((line) => line.trim().replace(/,$/, ''));
}

/** Lines are counted: one that the other side has as often is left out. */
function onlyIn(lines: readonly string[], others: readonly string[], sign: string): readonly string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.flatMap((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count > 0 ? [] : [`${sign} ${line}`];
  });
}
