/**
 * Trying parked keys again: their rows are read from the outbox by key and sent in order, up to the first that still
 * cannot be. What waits is what the position has passed, so this may be done at any time between two batches.
 */
import type { OutgoingRecord } from '@tidemark/log';
import type { OutboxRow } from '@tidemark/outbox';
import type { Batch, BatchSource, Progress } from './batches.ts';
import { BATCH_BYTES_MAX, BATCH_ROWS_MAX } from './limits.ts';
import { afterTry, keyId, type RowFault } from './parked-keys.ts';
import { tryRow } from './sendable.ts';

/** The position stays; what changes is where the keys wait, or that they no longer do. */
export async function batchOfParked(
  source: BatchSource,
  { position, parked }: Progress,
  ids: readonly string[],
): Promise<Batch> {
  const { reader, suspects, topics } = source;
  const tails = ids.flatMap((id) => parked.get(id) ?? []);
  // What made them unsendable may have changed since.
  for (const { topic } of tails) topics.forget(topic);
  const limits = { rowsMax: BATCH_ROWS_MAX, bytesMax: BATCH_BYTES_MAX };
  const page = await reader.readTails(position, tails, limits);
  const passed = page.rows.slice(0, suspects.prefix(page.rows));
  const { sent, records, faults } = await tryInOrder(source, passed);
  const place = passed.at(-1)?.position ?? page.place;
  const isLast = page.isLast && passed.length === page.rows.length;
  return { passed, sent, records, progress: { position, parked: afterTry(parked, { ids, faults, place, isLast }) } };
}

interface Tried {
  readonly sent: readonly OutboxRow[];
  readonly records: readonly OutgoingRecord[];
  readonly faults: ReadonlyMap<string, RowFault>;
}

async function tryInOrder(source: BatchSource, rows: readonly OutboxRow[]): Promise<Tried> {
  const sent: OutboxRow[] = [];
  const records: OutgoingRecord[] = [];
  const faults = new Map<string, RowFault>();
  for (const row of rows) {
    const id = keyId(row);
    if (faults.has(id)) continue;
    const tried = await tryRow(source, row);
    if (tried.kind === 'record') {
      sent.push(row);
      records.push(tried.record);
    } else {
      faults.set(id, { row, reason: tried.reason, atMs: BigInt(Date.now()) });
    }
  }
  return { sent, records, faults };
}
