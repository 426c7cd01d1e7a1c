import type { OutboxReader, PageLimits } from '../ports.ts';
import { type OutboxPosition, positionAfter } from '../position.ts';
import type { OutboxRow } from '../row.ts';

/** Reads one window, from the position to now, page by page. Each page is read as if the reader had just started. */
export async function readAll(
  reader: OutboxReader,
  from: OutboxPosition,
  limits: PageLimits,
): Promise<{ readonly rows: readonly OutboxRow[]; readonly position: OutboxPosition }> {
  const rows: OutboxRow[] = [];
  const taken = await reader.takeSnapshot();
  let position = from;
  for (;;) {
    const window = { after: position.snapshot, upTo: taken.snapshot };
    const page = await reader.readPage(window, position.window?.place ?? 0n, limits);
    rows.push(...page.rows);
    position = positionAfter(position, taken, page);
    if (page.isLast) return { rows, position };
  }
}
