/** Transactions as the leaders of partitions and the coordinator see them, and their ends written past the coordinator. */
import { ErrorClass, type Offset, TidemarkError, toOffset } from '@tidemark/keyspace';
import { FETCH_ATTEMPTS_MAX, FETCH_BYTES_MAX, IDENTITY_OBSERVATIONS } from '../../limits.ts';
import type {
  LogEntry,
  LogTransactions,
  OngoingTransaction,
  PartitionName,
  Source,
  TransactionalProducer,
  TransactionOutcome,
} from '../../ports.ts';
import { backOff } from './backoff.ts';
import type { BrokerConnections } from './connections.ts';
import { errorNameOf } from './error-names.ts';
import { asUnavailable, configError, unavailable } from './errors.ts';
import type { PartitionFetcher } from './fetcher.ts';
import { entriesOf } from './log-entries.ts';
import { ErrorCode, IsolationLevel } from './protocol.ts';
import { fetchTopicMetadata, type TopicMetadata } from './topic-metadata.ts';
import {
  CoordinatorKey,
  describeProducers,
  describeTransaction,
  findCoordinator,
  writeMarker,
} from './transaction-requests.ts';
import type { Broker } from './wire/broker-connection.ts';

export class KafkaTransactions implements LogTransactions {
  readonly #connections: BrokerConnections;
  readonly #openFetcher: () => PartitionFetcher;
  /** Leaders as they were last heard of: looking again and again must not ask for them each time. */
  readonly #topics = new Map<string, TopicMetadata>();

  constructor(connections: BrokerConnections, openFetcher: () => PartitionFetcher) {
    this.#connections = connections;
    this.#openFetcher = openFetcher;
  }

  async ongoing(partitions: readonly PartitionName[]): Promise<readonly OngoingTransaction[]> {
    // A broker that has just started may not know its topics yet.
    const missing = new Map<string, number>();
    return this.#patiently('looking for open transactions', async () => {
      const byBroker = await this.#byLeader(partitions, missing);
      const found = await Promise.all([...byBroker.values()].map((group) => this.#askLeader(group)));
      return found.flat();
    });
  }

  producerOf(transactionalId: string): Promise<TransactionalProducer | undefined> {
    return this.#patiently(`looking for the producer of ${transactionalId}`, async () => {
      const coordinator = await findCoordinator(
        await this.#connections.any(),
        transactionalId,
        CoordinatorKey.transaction,
      );
      check(coordinator?.errorCode, `the coordinator of ${transactionalId}`);
      if (coordinator === undefined) throw unavailable(`${transactionalId} has no coordinator at the moment`);
      const described = await describeTransaction(await this.#connections.to(coordinator.broker), transactionalId);
      if (described?.errorCode === ErrorCode.transactionalIdNotFound) return undefined;
      check(described?.errorCode, transactionalId);
      return described && { producerId: described.producerId, producerEpoch: described.producerEpoch };
    });
  }

  async *entries(source: Source, from: Offset): AsyncGenerator<LogEntry, void, undefined> {
    const fetcher = this.#openFetcher();
    try {
      const found = await fetcher.offsets(source);
      if (found.kind !== 'offsets') throw unavailable(`${source.topic}/${source.partition}: ${found.kind}`);
      const { logStartOffset, highWatermark } = found.offsets;
      let next: bigint = from < logStartOffset ? logStartOffset : from;
      while (next < highWatermark) {
        const order = { source, fetchOffset: next, bytesMax: FETCH_BYTES_MAX, waitMs: 0 };
        const outcome = await fetcher.fetch({ ...order, isolation: IsolationLevel.readUncommitted });
        if (outcome.kind !== 'answer') throw unavailable(`${source.topic}/${source.partition}: ${outcome.kind}`);
        const before = next;
        for (const { entry, nextOffset } of entriesOf(outcome.partition.batches, next)) {
          next = nextOffset;
          if (entry !== undefined) yield entry;
        }
        // Nothing below the high watermark: compaction took the rest.
        if (next === before) return;
      }
    } finally {
      await fetcher.close();
    }
  }

  end(transaction: OngoingTransaction, outcome: TransactionOutcome): Promise<void> {
    const where = `${transaction.topic}/${transaction.partition}`;
    return this.#patiently(`ending a transaction in ${where}`, async () => {
      const [group] = (await this.#byLeader([transaction], new Map())).values();
      if (group === undefined) throw unavailable(`topic "${transaction.topic}" is not there at the moment`);
      const code = await writeMarker(await this.#connections.to(group.broker), transaction, outcome);
      if (code === ErrorCode.clusterAuthorizationFailed) throw mayNotEnd(transaction, outcome);
      check(code, where);
    });
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  async #askLeader({ broker, partitions }: LeaderGroup): Promise<readonly OngoingTransaction[]> {
    const grouped = Map.groupBy(partitions, ({ topic }) => topic);
    const wanted = new Map([...grouped].map(([topic, group]) => [topic, group.map(({ partition }) => partition)]));
    const answers = await describeProducers(await this.#connections.to(broker), wanted);
    return answers.flatMap(({ topic, partition, errorCode, producers }) => {
      check(errorCode, `${topic}/${partition}`);
      return producers
        .filter(({ firstOffset }) => firstOffset >= 0n)
        .map(({ firstOffset, ...state }) => ({ topic, partition, ...state, firstOffset: toOffset(firstOffset) }));
    });
  }

  /** Partitions of topics that are gone are left out. */
  async #byLeader(
    partitions: readonly PartitionName[],
    missing: Map<string, number>,
  ): Promise<ReadonlyMap<string, LeaderGroup>> {
    const groups = new Map<string, LeaderGroup>();
    for (const [topic, wanted] of Map.groupBy(partitions, (each) => each.topic)) {
      const found = await this.#leadersOf(topic, missing);
      if (found === undefined) continue;
      for (const name of wanted) {
        const leader = found.leaders.find(({ partition }) => partition === name.partition);
        if (leader === undefined) continue;
        const { broker } = leader;
        if (broker === undefined) throw unavailable(`${topic}/${name.partition} has no leader at the moment`);
        const place = `${broker.host}:${broker.port}`;
        const group = groups.get(place) ?? { broker, partitions: [] };
        group.partitions.push(name);
        groups.set(place, group);
      }
    }
    return groups;
  }

  async #leadersOf(topic: string, missing: Map<string, number>): Promise<TopicMetadata | undefined> {
    const known = this.#topics.get(topic);
    if (known !== undefined) return known;
    const found = await fetchTopicMetadata(this.#connections, topic);
    if (found !== undefined) {
      this.#topics.set(topic, found);
      return found;
    }
    const sightings = (missing.get(topic) ?? 0) + 1;
    missing.set(topic, sightings);
    if (sightings < IDENTITY_OBSERVATIONS) throw unavailable(`topic "${topic}" is not there at the moment`);
    return undefined;
  }

  async #patiently<T>(doing: string, ask: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await ask();
      } catch (error) {
        this.#topics.clear();
        const isVerdict = error instanceof TidemarkError && error.class !== ErrorClass.unavailable;
        if (isVerdict || attempt + 1 >= FETCH_ATTEMPTS_MAX) throw asUnavailable(error, doing);
        await this.#connections.dropAll();
        await backOff(attempt);
      }
    }
  }
}

interface LeaderGroup {
  readonly broker: Broker;
  readonly partitions: PartitionName[];
}

const RIGHTS: ReadonlyMap<number, string> = new Map([
  [ErrorCode.topicAuthorizationFailed, 'READ of the topic'],
  [ErrorCode.transactionalIdAuthorizationFailed, 'DESCRIBE of the transactional id'],
]);

function check(code: number | undefined, what: string): void {
  if (code === ErrorCode.none) return;
  const right = code === undefined ? undefined : RIGHTS.get(code);
  if (right !== undefined)
    throw forbidden(`${what}: this client may not look for open transactions, it needs ${right}`);
  throw unavailable(`${what}: ${code === undefined ? 'no answer' : errorNameOf(code)}`);
}

function mayNotEnd({ topic, partition, firstOffset }: OngoingTransaction, outcome: TransactionOutcome): TidemarkError {
  const grant = 'kafka-acls.sh --add --allow-principal <ours> --operation ClusterAction --cluster';
  const tool = `kafka-transactions.sh abort --topic ${topic} --partition ${partition} --start-offset ${firstOffset}`;
  const byHand = outcome === 'abort' ? `, or run ${tool}` : ' (Apache\'s tools cannot commit; "abort" would lose it)';
  return forbidden(
    `the transaction that hangs in ${topic}/${partition} from offset ${firstOffset} on must be ended (${outcome}), and this client may not: ${grant}${byHand}`,
  );
}

function forbidden(message: string): TidemarkError {
  return configError('TRANSACTIONS_FORBIDDEN', message);
}
