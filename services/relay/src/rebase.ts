/**
 * Gives a relay a position that fits, after its database, its topics or its partitions became others.
 *
 *   lease -> fence -> end what hangs, as a session does -> look: what fits, which rows are in their topics
 *         -> database: published rows removed, the others drawn anew, the witness set, in one transaction
 *         -> Kafka: the position, in one transaction
 *
 * Up to the last step every relay refuses the old position, by the database's identity or by the witness in the lease
 * row; after it, it takes the new one. The step in the database can be repeated without harm. So a crash anywhere leaves
 * the old state or the new one, and running it again is right.
 */
import { ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import type { Logger } from '@tidemark/observability';
import {
  acceptedCounts,
  type Outbox,
  PARTITIONER,
  planRebase,
  positionTopicOf,
  type RebasePlan,
  sameDatabase,
  skippedRows,
} from '@tidemark/outbox';
import { stopped } from './errors.ts';
import { settleAll } from './hanging-end.ts';
import { LEASE_RENEWALS_PER_TTL, REBASE_LEASE_TTL_MS } from './limits.ts';
import { NOTHING_PARKED } from './parked-keys.ts';
import { positionRecord, positionTopicSpec, type StoredPosition } from './position-topic.ts';
import { type Judgement, judge, type Look, type LookOptions, look, type RebaseReport } from './rebase-look.ts';

export interface RebaseOptions extends LookOptions {
  /** Also while a relay has the lease: it is fenced, and goes on with the new position. */
  readonly force: boolean;
  /** Of the position topic, where it has to be made. */
  readonly replicationFactor: number;
  readonly logger: Logger;
}

/** Looks only: takes no lease, fences nobody, writes nothing. */
export async function inspectRebase(options: LookOptions): Promise<RebaseReport> {
  const { signal } = new AbortController();
  await options.outbox.reader.checkInstalled();
  return (await look(options, await judge(options, signal), signal)).report;
}

/**
 * Does it, unless there is nothing to do or something has to be decided first (see the report). Throws `config`
 * LEASE_HELD while a relay has the lease.
 */
export async function applyRebase(options: RebaseOptions): Promise<RebaseReport> {
  const { outbox, store, cluster, namespace, name, force, compare, consents, replicationFactor } = options;
  const idle = new AbortController();
  await outbox.reader.checkInstalled();
  const before = await judge(options, idle.signal);
  if (!isNeeded(planRebase(before, { unknown: 0, isAsked: compare }, consents)))
    return (await look(options, before, idle.signal)).report;
  if (force) await store.endLease();
  return withLease(options, async (signal) => {
    const positions = await cluster.catalog.ensure(positionTopicSpec(namespace, replicationFactor));
    const transactionalId = `${namespace}.relay.${name}`;
    const writer = await cluster.openTransactionalWriter({ transactionalId });
    try {
      const hanging = { writer, transactionalId, positions, witness: before.witness };
      const settled = await settleAll({ ...options, metrics: undefined }, hanging);
      const judgement = await judge(options, signal);
      const found = await look(options, judgement, signal);
      if (found.report.obstacles.length > 0 || !isNeeded(found.report)) return found.report;
      signal.throwIfAborted();
      const record = await positionRecord(options.codec, await positionAfterwards(options, judgement, found), {
        topic: positionTopicOf(namespace),
        relay: name,
        atMs: BigInt(Date.now()),
      });
      await settled.commit([record]);
      return { ...found.report, applied: true };
    } finally {
      await writer.close();
    }
  });
}

function isNeeded({ isNewPosition, movesKeys }: RebasePlan): boolean {
  return isNewPosition || movesKeys;
}

async function positionAfterwards(
  { store, consents }: RebaseOptions,
  { stored, identity: judged }: Judgement,
  { report, rows, fates }: Look,
): Promise<StoredPosition> {
  const partitionCounts = acceptedCounts(stored?.partitionCounts ?? {}, report.moves);
  if (!report.isNewPosition && stored !== undefined) return { ...stored, partitionCounts, partitioner: PARTITIONER };
  const { snapshot, walInsertLsn, identity } = await store.settle(skippedRows(rows, fates, consents.unknownRows));
  if (!sameDatabase(identity, judged)) throw changedMeanwhile('another database answers');
  return {
    position: { snapshot, window: undefined, walInsertLsn, identity },
    // Their rows are in the outbox and not in the topics: they are sent as all others, or parked again.
    parked: NOTHING_PARKED,
    partitionCounts,
    partitioner: PARTITIONER,
  };
}

/** Renewed until the work ends. */
async function withLease(
  { outbox, name }: RebaseOptions,
  work: (signal: AbortSignal) => Promise<RebaseReport>,
): Promise<RebaseReport> {
  const answer = await outbox.lease.acquire(REBASE_LEASE_TTL_MS);
  if (answer.kind === 'held') {
    const seconds = Math.max(1, Math.ceil(answer.expiresInMs / 1000));
    throw stopped(
      'LEASE_HELD',
      `relay "${name}" is run by ${answer.owner}, whose lease ends in ${seconds} s unless it is renewed: stop it, or fence it with --force`,
      { owner: answer.owner },
    );
  }
  const ending = new AbortController();
  const lost = new AbortController();
  const renewing = renew(outbox, ending.signal).catch((error: unknown) => lost.abort(error));
  try {
    return await work(lost.signal);
  } catch (error) {
    throw lost.signal.aborted ? lost.signal.reason : error;
  } finally {
    ending.abort();
    await renewing;
    // If this fails, it ends by itself.
    await outbox.lease.release().catch(() => {});
  }
}

async function renew({ lease }: Pick<Outbox, 'lease'>, signal: AbortSignal): Promise<void> {
  for (;;) {
    await sleep(REBASE_LEASE_TTL_MS / LEASE_RENEWALS_PER_TTL, signal);
    if (signal.aborted) return;
    const answer = await lease.acquire(REBASE_LEASE_TTL_MS);
    if (answer.kind === 'held') throw changedMeanwhile(`${answer.owner} took the lease`);
  }
}

function changedMeanwhile(what: string): TidemarkError {
  const message = `${what} meanwhile; run the rebase again`;
  return new TidemarkError({ code: 'REBASE_DISTURBED', class: ErrorClass.transient, message });
}
