/** The users' topics: what is written into them, and what the log holds at each offset in truth. */
import type { LogWriter } from '@tidemark/log';
import type { MemoryCluster } from '@tidemark/log/testing';
import { type Chance, chanceOf } from '@tidemark/testkit/chance';
import type { OffsetTruth } from './history.ts';
import { RECORD_EVERY_MS, RECORDS_BEGIN_MS } from './limits.ts';
import type { OpenTransactionPlan, Scenario, TopicPlan } from './plans.ts';
import type { VirtualTime } from './virtual-time.ts';

const KEYS = [null, 'a', 'b', 'c'] as const;

export class Topics {
  readonly #cluster: MemoryCluster;
  readonly #time: VirtualTime;
  readonly #chance: Chance;
  readonly #truth = new Map<string, OffsetTruth[][]>();
  readonly #starts = new Map<string, bigint[]>();
  #writer: LogWriter | undefined;
  #written = 0;

  constructor(cluster: MemoryCluster, time: VirtualTime, seed: number) {
    this.#cluster = cluster;
    this.#time = time;
    this.#chance = chanceOf(seed).fork('topics');
  }

  get truth(): ReadonlyMap<string, readonly (readonly OffsetTruth[])[]> {
    return this.#truth;
  }

  highWatermarks(topic: string): readonly bigint[] {
    return (this.#truth.get(topic) ?? []).map((partition) => BigInt(partition.length));
  }

  logStarts(topic: string): readonly bigint[] {
    return [...(this.#starts.get(topic) ?? [])];
  }

  /** To be told of every deletion. */
  cutBefore(topic: string, partition: number, offset: bigint): void {
    const starts = this.#starts.get(topic);
    if (starts !== undefined && offset > (starts[partition] ?? 0n)) starts[partition] = offset;
  }

  /** Creates the topics, writes what is there from the beginning, and plans the rest. */
  async open(scenario: Scenario): Promise<void> {
    this.#writer = await this.#cluster.openWriter();
    for (const topic of scenario.topics) {
      const configs = { 'retention.ms': '-1', 'retention.bytes': '-1' };
      this.#cluster.createTopic(topic.name, { partitionCount: topic.partitions.length, configs });
      this.#truth.set(
        topic.name,
        topic.partitions.map(() => []),
      );
      this.#starts.set(
        topic.name,
        topic.partitions.map(() => 0n),
      );
      this.#fill(topic);
      for (const { atMs, partition, records } of topic.appends)
        this.#time.after(atMs, () => this.#write(topic.name, partition, records, 'plain'));
    }
    for (const plan of scenario.openTransactions) this.#time.after(plan.beginMs, () => this.#openTransaction(plan));
  }

  #fill(topic: TopicPlan): void {
    for (const [partition, { batches, compactOneIn }] of topic.partitions.entries()) {
      for (const { records, how } of batches) this.#write(topic.name, partition, records, how);
      if (compactOneIn > 0) this.#compact(topic.name, partition, compactOneIn);
    }
  }

  #write(topic: string, partition: number, records: number, how: 'plain' | 'committed' | 'aborted'): void {
    if (how === 'plain') {
      const written = this.#records(topic, partition, records);
      // In memory it acts at once.
      void this.#writer?.append(written);
      this.#note(topic, partition, written, 'record');
      return;
    }
    const transaction = this.#cluster.begin();
    const written = this.#records(topic, partition, records);
    transaction.append(written);
    this.#note(topic, partition, written, how === 'committed' ? 'record' : 'aborted');
    if (how === 'committed') transaction.commit();
    else transaction.abort();
    this.#marker(topic, partition);
  }

  #openTransaction({ topic, partition, records, beginMs, endMs, commits }: OpenTransactionPlan): void {
    const transaction = this.#cluster.begin();
    const written = this.#records(topic, partition, records);
    transaction.append(written);
    const entries = this.#note(topic, partition, written, 'open');
    this.#time.after(endMs - beginMs, () => {
      if (commits) transaction.commit();
      else transaction.abort();
      for (const entry of entries) entry.kind = commits ? 'record' : 'aborted';
      this.#marker(topic, partition);
    });
  }

  #records(topic: string, partition: number, count: number) {
    return Array.from({ length: count }, () => {
      const key = this.#chance.pick(KEYS);
      this.#written += 1;
      const timestampMs = RECORDS_BEGIN_MS + this.#written * RECORD_EVERY_MS + this.#chance.below(3 * RECORD_EVERY_MS);
      const value = Buffer.from('v');
      return { topic, partition, key: key === null ? null : Buffer.from(key), value, timestampMs: BigInt(timestampMs) };
    });
  }

  #note(
    topic: string,
    partition: number,
    written: readonly { readonly key: Buffer | null; readonly timestampMs: bigint }[],
    kind: OffsetTruth['kind'],
  ): OffsetTruth[] {
    const entries = written.map(({ key, timestampMs }) => ({
      kind,
      key: key?.toString() ?? null,
      timestampMs: Number(timestampMs),
    }));
    this.#truth.get(topic)?.[partition]?.push(...entries);
    return entries;
  }

  #marker(topic: string, partition: number): void {
    this.#truth.get(topic)?.[partition]?.push({ kind: 'marker', key: null, timestampMs: Date.now() });
  }

  #compact(topic: string, partition: number, oneIn: number): void {
    const entries = this.#truth.get(topic)?.[partition] ?? [];
    const kept = new Set(entries.flatMap((_, offset) => (this.#chance.oneIn(oneIn) ? [] : [BigInt(offset)])));
    this.#cluster.compact(topic, partition, ({ offset }) => kept.has(offset));
    for (const [offset, entry] of entries.entries())
      if (entry.kind === 'marker' || !kept.has(BigInt(offset))) entry.kind = 'compacted';
  }
}
