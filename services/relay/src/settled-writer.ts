/**
 * A writer whose commit is done when the transaction has ended in every partition that it touched. The broker's answer
 * comes before that, and a broker that dies in between may never end it (README, "Transactions that hang"). Until it has,
 * nothing is removed from the outbox, and nothing more is written: a later abort would take what was committed with it.
 */
import { ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import type {
  LogTransactions,
  OngoingTransaction,
  OutgoingRecord,
  PartitionName,
  TransactionalWriter,
} from '@tidemark/log';
import { TOUCHED_HEADER, type Touched, touchedBy, touchedText } from './hanging.ts';
import { SETTLE_MS, SETTLE_PAUSE_MS_MAX, SETTLE_PAUSE_MS_MIN } from './limits.ts';

export interface SettledWriterParts {
  readonly writer: TransactionalWriter;
  readonly transactions: Pick<LogTransactions, 'ongoing'>;
  readonly positionTopic: string;
  /** Ours: of this session, and of older ones. */
  readonly producerIds: ReadonlySet<bigint>;
  /** Topics in which nothing of an older session hangs. */
  readonly cleanTopics: readonly string[];
  /** What an older session left open in partitions that are touched for the first time. */
  onLeftOpen(left: readonly OngoingTransaction[]): Promise<void>;
  readonly settleMs?: number;
}

export function createSettledWriter(parts: SettledWriterParts): TransactionalWriter {
  const { writer, transactions, positionTopic, producerIds, settleMs = SETTLE_MS } = parts;
  const clean = new Set(parts.cleanTopics);
  const cleanPartitions = new Set<string>();
  let isSettled = true;

  async function ours(partitions: readonly PartitionName[]): Promise<readonly OngoingTransaction[]> {
    return (await transactions.ongoing(partitions)).filter(({ producerId }) => producerIds.has(producerId));
  }

  async function cleanFirst(partitions: readonly PartitionName[]): Promise<void> {
    const unknown = partitions.filter((name) => !clean.has(name.topic) && !cleanPartitions.has(textOf(name)));
    if (unknown.length === 0) return;
    const left = await ours(unknown);
    if (left.length > 0) await parts.onLeftOpen(left);
    for (const name of unknown) cleanPartitions.add(textOf(name));
  }

  async function settle(partitions: readonly PartitionName[]): Promise<void> {
    const deadlineMs = performance.now() + settleMs;
    for (let pauseMs = SETTLE_PAUSE_MS_MIN; ; pauseMs = Math.min(pauseMs * 2, SETTLE_PAUSE_MS_MAX)) {
      const open = await ours(partitions);
      if (open.length === 0) return;
      if (performance.now() > deadlineMs) throw hangs(open);
      await sleep(pauseMs);
    }
  }

  return {
    get usable() {
      return isSettled && writer.usable;
    },
    async commit(records) {
      const touched = touchedBy(records.filter(({ topic }) => topic !== positionTopic));
      const events = partitionsIn(touched);
      await cleanFirst(events);
      isSettled = false;
      await writer.commit(
        records.map((record) => (record.topic === positionTopic ? telling(record, touched) : record)),
      );
      await settle([...events, { topic: positionTopic, partition: 0 }]);
      isSettled = true;
    },
    close: () => writer.close(),
  };
}

function telling(record: OutgoingRecord, touched: Touched): OutgoingRecord {
  const headers = [...(record.headers ?? []), [TOUCHED_HEADER, Buffer.from(touchedText(touched))] as const];
  return { ...record, headers };
}

function partitionsIn(touched: Touched): readonly PartitionName[] {
  return [...touched].flatMap(([topic, rows]) => [...rows.keys()].map((partition) => ({ topic, partition })));
}

function textOf({ topic, partition }: PartitionName): string {
  return `${partition}:${topic}`;
}

function hangs(open: readonly OngoingTransaction[]): TidemarkError {
  const where = open.map(({ topic, partition, firstOffset }) => `${topic}/${partition} from ${firstOffset} on`);
  return new TidemarkError({
    code: 'TRANSACTION_HANGS',
    class: ErrorClass.unavailable,
    message: `the broker has confirmed a transaction that is still open in ${where.join(', ')}; a new session will end it`,
  });
}
