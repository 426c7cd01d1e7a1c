/**
 * One session: from the fencing of all older ones to the first error. The order of its opening is what makes the relay
 * exact: fence, end what hangs, then read the position up to the high watermark of that moment, then publish. A position
 * read before the fencing could be behind a commit of the session that it fences.
 */
import { TidemarkError } from '@tidemark/keyspace';
import type { TopicDescription } from '@tidemark/log';
import { faultsOf, fitOf, type OutboxPosition, positionTopicOf, type Snapshot, startPosition } from '@tidemark/outbox';
import { type BatchSource, batchesOfWindow, type Progress } from './batches.ts';
import { BATCH_REFUSED, commitBatch } from './commit.ts';
import { rebaseAdvice, stopped } from './errors.ts';
import { settleAll } from './hanging-end.ts';
import { IDLE_POSITION_MS } from './limits.ts';
import { NOTHING_PARKED } from './parked-keys.ts';
import { readPosition, type StoredPosition } from './position-topic.ts';
import { batchOfParked } from './repair.ts';
import type { Opened, SessionParts } from './session-parts.ts';
import { createTopicDirectory, describePatiently } from './topics.ts';

/** Publishes until the signal aborts. `published` is what the lease row remembers of earlier sessions. */
export async function runSession(
  parts: SessionParts,
  published: Snapshot | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { cluster, namespace, name } = parts;
  const transactionalId = `${namespace}.relay.${name}`;
  const writer = await cluster.openTransactionalWriter({ transactionalId });
  try {
    const positions = await describePositions(parts, signal);
    const settled = await settleAll(parts, { writer, transactionalId, positions, witness: published });
    const { progress, topics, isStored } = await openPosition(parts, { positions, published }, signal);
    parts.onOpened({ progress, isStored });
    await publishLoop(parts, { writer: settled, topics, progress }, signal);
  } finally {
    await writer.close();
  }
}

async function describePositions(
  { cluster, namespace, name }: SessionParts,
  signal: AbortSignal,
): Promise<TopicDescription> {
  const topic = await describePatiently(cluster.catalog, positionTopicOf(namespace), signal);
  if (topic === undefined)
    throw stopped(
      'POSITION_TOPIC_MISSING',
      `topic "${positionTopicOf(namespace)}" is gone, and with it the position. ${rebaseAdvice(name)}`,
    );
  return topic;
}

async function openPosition(
  parts: SessionParts,
  { positions, published }: { readonly positions: TopicDescription; readonly published: Snapshot | undefined },
  signal: AbortSignal,
): Promise<Omit<Opened, 'writer'> & { readonly isStored: boolean }> {
  const { outbox, cluster, codec, name } = parts;
  const stored = await readPosition(cluster, codec, { topic: positions, relay: name, signal });
  await outbox.reader.checkInstalled();
  const position = await adoptPosition(parts, stored, published);
  return {
    isStored: stored !== undefined,
    progress: { position, parked: stored?.parked ?? NOTHING_PARKED },
    topics: createTopicDirectory(cluster.catalog, { published: stored?.partitionCounts ?? {}, signal }),
  };
}

/** A partition count that changed stops nothing before the first row that it concerns. */
async function adoptPosition(
  { outbox, logger, name }: SessionParts,
  stored: StoredPosition | undefined,
  witness: Snapshot | undefined,
): Promise<OutboxPosition> {
  const now = await outbox.reader.state();
  const fit = fitOf({ stored: stored?.position, witness, now });
  const [fault] = faultsOf({ fit, moves: [], partitioner: stored?.partitioner });
  if (fault !== undefined) throw stopped(fault.code, `${fault.message}. ${rebaseAdvice(name)}`);
  if (fit.kind === 'promoted') logger.warn({ from: fit.from, to: fit.to }, 'database.promoted');
  return stored === undefined ? startPosition(now.identity) : { ...stored.position, identity: now.identity };
}

async function publishLoop(parts: SessionParts, opened: Opened, signal: AbortSignal): Promise<void> {
  const { pace } = parts;
  let progress = await repairAll(parts, opened, signal);
  let committedAtMs = performance.now();
  while (!signal.aborted) {
    const isIdleTooLong = performance.now() - committedAtMs > IDLE_POSITION_MS;
    const window = await publishWindow(parts, { ...opened, progress }, { alsoEmpty: isIdleTooLong, signal });
    if (signal.aborted) return;
    const repair = await repairDue(parts, { ...opened, progress: window.progress });
    progress = repair.progress;
    if (window.committed || repair.committed) committedAtMs = performance.now();
    if (window.rows + repair.rows > 0) await pace.busy();
    else await pace.idle(signal);
  }
}

interface Published {
  readonly progress: Progress;
  /** Passed. */
  readonly rows: number;
  readonly committed: boolean;
}

/** Inside a window the next batch is read while one is committed; nothing of it is held open in the database meanwhile. */
async function publishWindow(
  parts: SessionParts,
  opened: Opened,
  { alsoEmpty, signal }: { readonly alsoEmpty: boolean; readonly signal: AbortSignal },
): Promise<Published> {
  const { reader } = parts.outbox;
  const start = opened.progress;
  const batches = batchesOfWindow(sourceOf(parts, opened), start);
  const result = { progress: start, rows: 0, committed: false };
  let next = await batches.next();
  while (next.done !== true && !signal.aborted) {
    const batch = next.value;
    const isWorthIt = batch.passed.length > 0 || result.committed || start.position.window !== undefined || alsoEmpty;
    // Of a transaction that a crash may take back, nothing is told. Once a window: its batches depend on one snapshot.
    if (isWorthIt && !result.committed && batch.dependsOn !== undefined) await reader.flushed(batch.dependsOn);
    const reading = batches.next();
    // Its failure belongs to the next round, and must not count as unhandled until then.
    reading.catch(() => {});
    if (isWorthIt) {
      await commitBatch(parts, opened, { before: result.progress, batch });
      result.progress = batch.progress;
      result.rows += batch.passed.length;
      result.committed = true;
    }
    next = await reading;
  }
  return result;
}

/** Before anything else is published: the next row that cannot be sent may find no room among the parked keys. */
async function repairAll(parts: SessionParts, opened: Opened, signal: AbortSignal): Promise<Progress> {
  let repair = await repairDue(parts, opened);
  while (repair.committed && !signal.aborted) repair = await repairDue(parts, { ...opened, progress: repair.progress });
  return repair.progress;
}

/** One page of the rows of parked keys whose time has come. */
async function repairDue(parts: SessionParts, opened: Opened): Promise<Published> {
  const before = opened.progress;
  const ids = parts.retryPace.due(before.parked, performance.now());
  if (ids.length === 0) return { progress: before, rows: 0, committed: false };
  try {
    const batch = await batchOfParked(sourceOf(parts, opened), before, ids);
    await commitBatch(parts, opened, { before, batch });
    return { progress: batch.progress, rows: batch.sent.length, committed: true };
  } catch (error) {
    postpone(parts, before, { ids, error });
    throw error;
  }
}

/** Whatever ends one session after another must not keep the other keys from going on. Only finding a row does not wait. */
function postpone(
  { retryPace }: SessionParts,
  { parked }: Progress,
  { ids, error }: { readonly ids: readonly string[]; readonly error: unknown },
): void {
  if (error instanceof TidemarkError && error.code === BATCH_REFUSED) return;
  for (const id of ids) {
    const key = parked.get(id);
    if (key !== undefined) retryPace.failed(key, performance.now());
  }
}

function sourceOf({ outbox, envelope, suspects }: SessionParts, { topics }: Opened): BatchSource {
  return { reader: outbox.reader, topics, envelope, suspects };
}
