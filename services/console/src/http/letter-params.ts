/** Names of topics and places in addresses, checked before anybody is asked about them. */
import { letterTopic } from '@tidemark/control';
import { isTopicName } from '@tidemark/keyspace';
import type { TopicDescription } from '@tidemark/log';
import type { ConsoleParts } from '../collect/parts.ts';
import { Refusal } from './documented.ts';

export interface TopicParams {
  readonly topic: string;
}

export interface PlaceParams extends TopicParams {
  readonly partition: string;
  readonly offset: string;
}

export const TOPIC_PARAMS = { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] };
export const PLACE_PARAMS = {
  type: 'object',
  properties: { topic: { type: 'string' }, partition: { type: 'string' }, offset: { type: 'string' } },
  required: ['topic', 'partition', 'offset'],
};

const PARTITION_MAX = 2n ** 31n - 1n;
const OFFSET_MAX = 2n ** 63n - 1n;

export function topicOf({ topic }: TopicParams): string {
  if (!isTopicName(topic)) throw new Refusal(400, `${JSON.stringify(topic)} is no name of a topic`);
  return topic;
}

export function placeOf(partition: string, offset: string): { readonly partition: number; readonly offset: bigint } {
  const isNumber = /^\d{1,19}$/.test(partition) && /^\d{1,19}$/.test(offset);
  if (!isNumber || BigInt(partition) > PARTITION_MAX || BigInt(offset) > OFFSET_MAX)
    throw new Refusal(400, `${partition}:${offset} is no place: it is PARTITION:OFFSET`);
  return { partition: Number(partition), offset: BigInt(offset) };
}

/** Undefined when the topic is there and never had a dead letter. */
export async function lettersOf(
  { cluster }: Pick<ConsoleParts, 'cluster'>,
  topic: string,
): Promise<TopicDescription | undefined> {
  const letters = await letterTopic(cluster, topic);
  if (letters === undefined && (await cluster.catalog.describe(topic)) === undefined)
    throw new Refusal(404, `neither topic ${topic} nor one with its dead letters exists`);
  return letters;
}
