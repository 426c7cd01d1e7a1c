/** Asks the broker where the groups of a topic go on. */
import { describeError } from '@tidemark/keyspace';
import type { LogCatalog, TopicDescription } from '@tidemark/log';
import { committedNothing, type GroupFloor, unreadable } from './groups.ts';

/** By partition. A group that cannot be read holds every partition, and says why; nothing is thrown. */
export async function groupFloorsOf(
  catalog: Pick<LogCatalog, 'committedOffsets'>,
  topic: TopicDescription,
  groups: readonly string[],
): Promise<readonly (readonly GroupFloor[])[]> {
  const byGroup = await Promise.all(groups.map((group) => floorsOf(catalog, topic, group)));
  return Array.from({ length: topic.partitionCount }, (_, partition) => byGroup.map((floorAt) => floorAt(partition)));
}

async function floorsOf(
  catalog: Pick<LogCatalog, 'committedOffsets'>,
  description: TopicDescription,
  group: string,
): Promise<(partition: number) => GroupFloor> {
  const { topic } = description;
  try {
    const committed = await catalog.committedOffsets(group, description);
    return (partition) => {
      const offset = committed[partition];
      if (offset === undefined)
        return { kind: 'unknown', group, reason: committedNothing(group, { topic, partition }) };
      return { kind: 'committed', group, offset };
    };
  } catch (error) {
    const reason = unreadable(group, describeError(error));
    return () => ({ kind: 'unknown', group, reason });
  }
}
