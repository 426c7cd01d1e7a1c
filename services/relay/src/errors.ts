/** Why a relay stops for good. Each message names what a person needs to find the row or the topic. */
import { ErrorClass, type ErrorContext, TidemarkError } from '@tidemark/keyspace';
import { type OutboxRow, rebaseCommand } from '@tidemark/outbox';
import { sizeOf } from './parked-keys.ts';

export function unsendable(row: OutboxRow, reason: string): TidemarkError {
  const table = row.headers['tm_table'];
  const bytes = sizeOf(row);
  const from = table == null ? 'published by hand' : `table ${table}`;
  return new TidemarkError({
    code: 'ROW_UNSENDABLE',
    class: ErrorClass.data,
    message: `the outbox row at position ${row.position} (${from}, topic "${row.topic}", key ${shortened(row.key)}, ${bytes} bytes) cannot be sent: ${reason}. Everything before it is published; it and what follows is kept`,
    context: { position: row.position, topic: row.topic, key: shortened(row.key), bytes, table: table ?? null },
  });
}

const KEY_TEXT_MAX = 100;

function shortened(key: string): string {
  const text = JSON.stringify(key);
  return text.length > KEY_TEXT_MAX ? `${text.slice(0, KEY_TEXT_MAX)}…` : text;
}

export function stopped(code: string, message: string, context: ErrorContext = {}): TidemarkError {
  return new TidemarkError({ code, class: ErrorClass.config, message, context });
}

export function rebaseAdvice(relay: string): string {
  return `"${rebaseCommand(relay)}" shows what would be skipped or repeated, and with --apply repairs it`;
}
