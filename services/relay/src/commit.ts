/** One batch as one Kafka transaction, and who is to blame when it is refused. */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { PARTITIONER, positionTopicOf, snapshotText } from '@tidemark/outbox';
import type { Batch, Progress } from './batches.ts';
import { changesOf, type ParkedChanges } from './parked-keys.ts';
import { positionRecord } from './position-topic.ts';
import type { Opened, SessionParts } from './session-parts.ts';

/** `before` is what was committed last. Throws after whatever went wrong; the session must then end. */
export async function commitBatch(
  parts: SessionParts,
  { writer, topics }: Pick<Opened, 'writer' | 'topics'>,
  { before, batch }: { readonly before: Progress; readonly batch: Batch },
): Promise<void> {
  const { outbox, codec, namespace, name } = parts;
  const { progress } = batch;
  const changes = changesOf(before.parked, progress.parked);
  if (changes.waitsNewly.length > 0) await outbox.reader.removePublished(before.position.snapshot, changes.waitsNewly);
  const position = await positionRecord(
    codec,
    { ...progress, partitionCounts: topics.partitionCounts(), partitioner: PARTITIONER },
    { topic: positionTopicOf(namespace), relay: name, atMs: BigInt(Date.now()) },
  );
  try {
    await writer.commit([...batch.records, position]);
  } catch (error) {
    parts.metrics?.relayTransactions.add(1, 'failed');
    throw blame(parts, batch, error);
  }
  parts.metrics?.relayTransactions.add(1, 'committed');
  parts.metrics?.relayEvents.add(batch.sent.length);
  parts.suspects.acquit(batch.passed);
  noteChanges(parts, changes);
  const { snapshot } = progress.position;
  parts.logger.debug({ rows: batch.sent.length, snapshot: snapshotText(snapshot) }, 'batch.committed');
  parts.onPublished({ rows: batch.sent.length, progress });
}

function noteChanges({ retryPace, logger }: SessionParts, { parked, freed, triedInVain }: ParkedChanges): void {
  const nowMs = performance.now();
  for (const key of [...parked, ...triedInVain]) retryPace.failed(key, nowMs);
  for (const { parkedAtMs: _, triedAtMs: __, ...fields } of parked) logger.warn(fields, 'key.parked');
  for (const { topic, position, reason } of triedInVain) logger.debug({ topic, position, reason }, 'key.still_parked');
  for (const key of freed) {
    retryPace.freed(key);
    logger.info({ topic: key.topic, key: key.key }, 'key.freed');
  }
}

export const BATCH_REFUSED = 'BATCH_REFUSED';

/** A refused batch of several rows is tried again by halves; a row that is refused alone is the one, and parks its key. */
function blame({ suspects, namespace }: SessionParts, { sent }: Batch, error: unknown): unknown {
  if (!(error instanceof TidemarkError) || error.class !== ErrorClass.data) return error;
  const [first] = sent;
  if (first === undefined || error.context['topic'] === positionTopicOf(namespace)) return error;
  // Not the broker but our client, by a limit that is newer than the one the row was measured by.
  if (error.code === 'RECORD_TOO_LARGE') return refused(error, 'measuring the rows again');
  if (sent.length === 1) {
    suspects.convict(first, error.message);
    return refused(error, `parking the key of the row at position ${first.position}`);
  }
  suspects.accuse(sent);
  return refused(error, `trying again with half of the ${sent.length} rows from position ${first.position}`);
}

function refused(cause: TidemarkError, next: string): TidemarkError {
  const message = `${cause.message}; ${next}`;
  return new TidemarkError({ code: BATCH_REFUSED, class: ErrorClass.transient, message, cause });
}
