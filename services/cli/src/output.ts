/** The three shapes of an answer: a table for people, one JSON document, or one JSON document a line. */

import { jsonText } from '@tidemark/contracts';
import { type Column, harmlessJson, plainText, tableLines } from '@tidemark/control';
import type { Terminal } from './terminal.ts';

export const Format = { table: 'table', json: 'json', jsonl: 'jsonl' } as const;
export type Format = (typeof Format)[keyof typeof Format];

export interface Answer<Row> {
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** What a program gets of a row; the row itself without it. */
  readonly json?: (row: Row) => unknown;
  /** Said to people instead of an empty table. */
  readonly none: string;
}

export function printRows<Row>(terminal: Pick<Terminal, 'out'>, format: Format, answer: Answer<Row>): void {
  const { rows, columns, json = (row: Row): unknown => row } = answer;
  if (format === Format.json) terminal.out(lineOfJson(rows.map(json)));
  else if (format === Format.jsonl) for (const row of rows) terminal.out(lineOfJson(json(row)));
  else if (rows.length === 0) terminal.out(answer.none);
  else for (const line of tableLines(columns, rows)) terminal.out(line);
}

/** Texts of others are in it, and programs are not the only ones who look at it. */
export function lineOfJson(value: unknown): string {
  return harmlessJson(jsonText(value));
}

/** One thing: for people in lines, for programs as one document. */
export function printOne(
  terminal: Pick<Terminal, 'out'>,
  format: Format,
  value: unknown,
  lines: () => readonly string[],
): void {
  if (format !== Format.table) terminal.out(lineOfJson(value));
  else for (const line of lines()) terminal.out(plainText(line));
}

const DATE_MS_MAX = 8_640_000_000_000_000n;

/** In UTC. A producer may write any number as a time: beyond what a date can be it stays a number. */
export function instant(ms: bigint | number): string {
  return ms > DATE_MS_MAX || ms < -DATE_MS_MAX ? `${ms} ms` : new Date(Number(ms)).toISOString();
}
