/**
 * How many partitions the topics of a session have, and how large a record they take. Records are sent with their
 * partition, so the count that decides is the one here, and a change is noticed before it moves a key.
 */
import { ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import type { LogCatalog, TopicDescription } from '@tidemark/log';
import { MISSING_OBSERVATIONS, MISSING_PAUSE_MS, TOPIC_TRUST_MS } from './limits.ts';

export type TopicAnswer =
  | { readonly kind: 'usable'; readonly partitionCount: number; readonly messageBytesMax: number }
  | { readonly kind: 'missing' }
  | { readonly kind: 'changed'; readonly from: number; readonly to: number };

export interface TopicDirectory {
  lookUp(topic: string): Promise<TopicAnswer>;
  /** The answer when it is known and fresh: most rows need no promise. */
  known(topic: string): TopicAnswer | undefined;
  /** It may have changed: the next look is a fresh one. */
  forget(topic: string): void;
  /** Every topic that was ever published to. */
  partitionCounts(): Readonly<Record<string, number>>;
}

export function createTopicDirectory(
  catalog: LogCatalog,
  { published, signal }: { readonly published: Readonly<Record<string, number>>; readonly signal: AbortSignal },
): TopicDirectory {
  const counts = new Map(Object.entries(published));
  const fresh = new Map<string, { readonly answer: TopicAnswer; readonly atMs: number }>();

  return {
    known(topic) {
      const entry = fresh.get(topic);
      return entry !== undefined && performance.now() - entry.atMs < TOPIC_TRUST_MS ? entry.answer : undefined;
    },
    async lookUp(topic) {
      const found = await describePatiently(catalog, topic, signal);
      const answer = await answerOf(catalog, found, counts.get(topic));
      if (answer.kind === 'usable') counts.set(topic, answer.partitionCount);
      fresh.set(topic, { answer, atMs: performance.now() });
      return answer;
    },
    forget(topic) {
      fresh.delete(topic);
    },
    partitionCounts: () => Object.fromEntries(counts),
  };
}

async function answerOf(
  catalog: LogCatalog,
  topic: TopicDescription | undefined,
  before: number | undefined,
): Promise<TopicAnswer> {
  if (topic === undefined) return { kind: 'missing' };
  const found = topic.partitionCount;
  if (before !== undefined && before !== found) return { kind: 'changed', from: before, to: found };
  const limit = (await catalog.settings(topic.topic, [MESSAGE_BYTES_MAX])).get(MESSAGE_BYTES_MAX);
  return { kind: 'usable', partitionCount: found, messageBytesMax: Number(limit ?? Number.POSITIVE_INFINITY) };
}

const MESSAGE_BYTES_MAX = 'max.message.bytes';

/** Undefined when the topic is not there, also after some patience; throws when that was cut short. */
export async function describePatiently(
  catalog: Pick<LogCatalog, 'describe'>,
  topic: string,
  signal: AbortSignal,
): Promise<TopicDescription | undefined> {
  for (let observation = 1; ; observation += 1) {
    const found = await catalog.describe(topic);
    if (found !== undefined || observation === MISSING_OBSERVATIONS) return found;
    // Missing is what stops a relay for good, so it is not said before it is known.
    if (signal.aborted) throw gaveUp(topic);
    await sleep(MISSING_PAUSE_MS, signal);
  }
}

function gaveUp(topic: string): TidemarkError {
  const message = `the session ends, and whether topic "${topic}" exists is not known yet`;
  return new TidemarkError({ code: 'SESSION_ENDS', class: ErrorClass.transient, message });
}
