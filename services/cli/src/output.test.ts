import { RawJson } from '@tidemark/contracts';
import { expect, it } from 'vitest';
import { Format, printOne, printRows } from './output.ts';

/** Clears a screen in one character, turns text round, and ends a line for some programs. */
const evil = 'a\u009b2J\u202eb\u2028\u007f';

it('L4: documents for programs move no cursor where they are looked at, are one line each, and mean the same', () => {
  const lines: string[] = [];
  const terminal = { out: (line: string) => lines.push(line) };
  const row = { error: evil, [evil]: 1, json: new RawJson('{"a":\n 1}') };
  printOne(terminal, Format.json, row, () => []);
  printRows(terminal, Format.json, { rows: [row], columns: [], none: '' });
  printRows(terminal, Format.jsonl, { rows: [row], columns: [], none: '' });
  const shown = { error: evil, [evil]: 1, json: { a: 1 } };
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([shown, [shown], shown]);
  for (const line of lines) expect(line).toMatch(/^[\x20-\x7e]+$/);
});
