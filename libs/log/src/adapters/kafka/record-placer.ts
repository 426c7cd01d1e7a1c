/** Gives every outgoing record its partition, and refuses what the broker would refuse, by the facts of its topic. */
import { TOPIC_FACTS_TTL_MS } from '../../limits.ts';
import { type PlacedRecord, placeRecord, type TopicFacts } from '../../outgoing.ts';
import type { OutgoingRecord } from '../../ports.ts';

export class RecordPlacer {
  readonly #askFacts: (topic: string) => Promise<TopicFacts>;
  readonly #known = new Map<string, { readonly facts: TopicFacts; readonly askedAtMs: number }>();

  /** `askFacts` throws TOPIC_NOT_FOUND for a topic that is not there. */
  constructor(askFacts: (topic: string) => Promise<TopicFacts>) {
    this.#askFacts = askFacts;
  }

  async place(records: readonly OutgoingRecord[]): Promise<readonly PlacedRecord[]> {
    const facts = new Map<string, TopicFacts>();
    for (const { topic } of records) if (!facts.has(topic)) facts.set(topic, await this.#factsOf(topic));
    return records.map((record) => placeRecord(record, facts.get(record.topic) as TopicFacts));
  }

  /** After an error they may be why: a topic is gone, or its limit was lowered. */
  forget(topics: Iterable<string>): void {
    for (const topic of topics) this.#known.delete(topic);
  }

  async #factsOf(topic: string): Promise<TopicFacts> {
    const known = this.#known.get(topic);
    if (known !== undefined && performance.now() - known.askedAtMs < TOPIC_FACTS_TTL_MS) return known.facts;
    const facts = await this.#askFacts(topic);
    this.#known.set(topic, { facts, askedAtMs: performance.now() });
    return facts;
  }
}
