/** Between the fence and the position: whatever of ours is open in a partition now is of a transaction that hangs, and is ended. */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { OngoingTransaction, TopicDescription, TransactionalWriter, TransactionOutcome } from '@tidemark/log';
import type { Snapshot } from '@tidemark/outbox';
import { type Ending, verdictOn } from './hanging.ts';
import { findHanging } from './hanging-evidence.ts';
import type { SessionParts } from './session-parts.ts';
import { createSettledWriter } from './settled-writer.ts';

type Parts = Pick<SessionParts, 'cluster' | 'codec' | 'name' | 'logger' | 'metrics'>;

/** The writer must be open: then nothing can be written any more by an older session. */
export async function settleAll(
  parts: Parts,
  {
    writer,
    transactionalId,
    positions,
    witness,
  }: {
    readonly writer: TransactionalWriter;
    readonly transactionalId: string;
    readonly positions: TopicDescription;
    readonly witness: Snapshot | undefined;
  },
): Promise<TransactionalWriter> {
  const { catalog } = parts.cluster;
  const { transactions } = catalog;
  const producerId = (await transactions.producerOf(transactionalId))?.producerId;
  const found = await findHanging({ ...parts, catalog }, { positions, relay: parts.name, producerId, witness });
  const verdict = verdictOn(found);
  if (verdict.kind === 'undecided')
    throw undecided(verdict.reason, [...found.position, ...found.events.map((part) => part.ongoing)]);
  for (const ending of verdict.endings) await end(parts, ending);
  return createSettledWriter({
    writer,
    transactions,
    positionTopic: positions.topic,
    producerIds: found.producerIds,
    cleanTopics: found.topics,
    // A topic that no position knows was touched by no transaction that was committed.
    async onLeftOpen(left) {
      for (const ongoing of left) await end(parts, { ongoing, outcome: 'abort' });
    },
  });
}

async function end({ cluster, logger, metrics }: Parts, { ongoing, outcome }: Ending): Promise<void> {
  const { transactions } = cluster.catalog;
  await transactions.end(ongoing, outcome);
  const { producerId, firstOffset } = ongoing;
  const left = await transactions.ongoing([ongoing]);
  if (left.some((each) => each.producerId === producerId && each.firstOffset === firstOffset))
    throw unsettled(`the transaction of producer ${producerId} in ${placeOf(ongoing)} does not end`);
  metrics?.relayTransactionsEnded.add(1, OUTCOMES[outcome]);
  logger.warn({ ...ongoing, outcome }, 'transaction.ended');
}

const OUTCOMES = { commit: 'committed', abort: 'aborted' } as const satisfies Record<TransactionOutcome, string>;

function unsettled(message: string): TidemarkError {
  return new TidemarkError({ code: 'TRANSACTION_HANGS', class: ErrorClass.unavailable, message });
}

function undecided(reason: string, open: readonly OngoingTransaction[]): TidemarkError {
  const places = open.map(
    (each) => `${placeOf(each)} from offset ${each.firstOffset} on (producer ${each.producerId})`,
  );
  return new TidemarkError({
    code: 'TRANSACTION_UNDECIDED',
    class: ErrorClass.config,
    message: `a transaction of this relay hangs in ${places.join(', ')}, and whether it was committed cannot be told: ${reason}. If nothing of it is readable anywhere, end it with kafka-transactions.sh abort --topic T --partition P --start-offset O in each of them; else see "Transactions that hang" in the README`,
  });
}

function placeOf({ topic, partition }: OngoingTransaction): string {
  return `${topic}/${partition}`;
}
