/** The built-in handler `republish`: what its parameters mean, and which topics it may write to. */
import type { JobRequested } from '@tidemark/contracts';
import { isTopicName } from '@tidemark/keyspace';
import type { LogCatalog, TopicDescription } from '@tidemark/log';
import { oneOf, type Parameters, type Read, unknownParameters } from './settings.ts';

export const REPUBLISH = 'republish';

export interface RepublishSettings {
  /** Where to. */
  readonly topic: string;
  /** `none`: the copies have no key. */
  readonly key: 'keep' | 'none';
  /** `keep`: the partition of the record; `hash`: that of its key, as the Java client computes it. */
  readonly partition: 'hash' | 'keep';
}

export function readRepublish(parameters: Parameters): Read<RepublishSettings> {
  const { topic = '' } = parameters;
  const key = oneOf('key', parameters['key'], ['keep', 'none']);
  const partition = oneOf('partition', parameters['partition'], ['hash', 'keep']);
  const faults = [
    ...unknownParameters(REPUBLISH, parameters, { known: ['topic', 'key', 'partition'] }),
    ...(isTopicName(topic) ? [] : [`parameter topic ${JSON.stringify(topic)} is not a legal topic name`]),
    ...key.faults,
    ...partition.faults,
  ];
  if (faults.length > 0) return { kind: 'faults', faults };
  return { kind: 'settings', settings: { topic, key: key.word, partition: partition.word } };
}

/** A topic that is written to itself never comes to an end for whoever reads it next. */
export function republishFaults({ topic, parameters }: Pick<JobRequested, 'topic' | 'parameters'>): readonly string[] {
  const read = readRepublish(parameters);
  if (read.kind === 'faults') return read.faults;
  if (read.settings.topic !== topic) return [];
  return [`parameter topic: ${topic} is the topic that is read; republish writes to another one`];
}

export const TargetRefusal = {
  missing: 'TARGET_NOT_FOUND',
  partitions: 'TARGET_PARTITIONS',
  own: 'TARGET_FORBIDDEN',
} as const;
export type TargetRefusal = (typeof TargetRefusal)[keyof typeof TargetRefusal];

export interface RefusedTarget {
  readonly code: TargetRefusal;
  /** What is wrong, and what to do about it. */
  readonly reason: string;
}

/**
 * Why a job must not begin, as the broker shows its topics now; undefined when nothing speaks against it, also when the
 * source is missing, which is for the pin to say. Throws what the catalog throws.
 */
export async function targetRefusal(
  catalog: Pick<LogCatalog, 'describe'>,
  request: JobRequested,
  namespace: string,
): Promise<RefusedTarget | undefined> {
  if (request.handler !== REPUBLISH) return undefined;
  const read = readRepublish(request.parameters);
  if (read.kind === 'faults') return undefined;
  const { settings } = read;
  if (settings.topic.startsWith(`${namespace}.`)) {
    const reason = `topics that begin with "${namespace}." belong to Tidemark, and ${settings.topic} is one; name another target`;
    return { code: TargetRefusal.own, reason };
  }
  const source = await catalog.describe(request.topic);
  const target = await catalog.describe(settings.topic);
  return source === undefined ? undefined : refusedBy(settings, source, target);
}

function refusedBy(
  settings: RepublishSettings,
  source: TopicDescription,
  target: TopicDescription | undefined,
): RefusedTarget | undefined {
  if (target === undefined) {
    const reason = `topic ${settings.topic}, to which republish should write, does not exist; create it first, nobody else does`;
    return { code: TargetRefusal.missing, reason };
  }
  if (settings.partition === 'keep' && target.partitionCount !== source.partitionCount) {
    const counts = `topic ${target.topic} has ${target.partitionCount} partitions and ${source.topic} has ${source.partitionCount}`;
    const reason = `${counts}, so records cannot keep their partition; partition=hash places them by key`;
    return { code: TargetRefusal.partitions, reason };
  }
  return undefined;
}
