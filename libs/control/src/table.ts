/** Tables for people, in plain text. */
export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => string | number | bigint;
  /** Numbers are read from the right. */
  readonly align?: 'right';
}

const GAP = '  ';

/** Texts of others end up in cells: a character that would move the cursor of a terminal, or break the line, is a blank. */
export function plainText(text: string): string {
  return text.replaceAll(CONTROL_CHARACTERS, ' ');
}

const CONTROL_CHARACTERS = /[\p{Cc}\p{Cf}\u2028\u2029]+/gu;

export function tableLines<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): readonly string[] {
  const titles = columns.map(({ title }) => title);
  const cells = [titles, ...rows.map((row) => columns.map((column) => plainText(String(column.of(row)))))];
  const widths = columns.map((_, c) => Math.max(...cells.map((line) => line[c]?.length ?? 0)));
  return cells.map((line) =>
    line
      .map((cell, c) => (columns[c]?.align === 'right' ? cell.padStart(widths[c] ?? 0) : cell.padEnd(widths[c] ?? 0)))
      .join(GAP)
      .trimEnd(),
  );
}
