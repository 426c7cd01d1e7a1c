/** Consumer groups that others run on a guarded topic, as holders: `orders=billing+analytics,chat=push`. Pure. */
import { isTopicName, type Offset } from '@tidemark/keyspace';

/** By topic, the groups whose committed offsets hold it. */
export type GuardedGroups = ReadonlyMap<string, readonly string[]>;

export type GroupsParse =
  | { readonly kind: 'parsed'; readonly groups: GuardedGroups }
  | { readonly kind: 'faults'; readonly faults: readonly string[] };

/** Where a group goes on in one partition. What is not known holds everything there. */
export type GroupFloor =
  | { readonly kind: 'committed'; readonly group: string; readonly offset: Offset }
  | { readonly kind: 'unknown'; readonly group: string; readonly reason: string };

/** A group's name may not hold a comma, a plus or an equals sign here. */
export function parseGroups(text: string): GroupsParse {
  const groups = new Map<string, readonly string[]>();
  const faults: string[] = [];
  for (const entry of text.split(',').map((each) => each.trim())) {
    if (entry === '') continue;
    const [topic = '', listed, ...more] = entry.split('=').map((each) => each.trim());
    const names = listed?.split('+').map((each) => each.trim()) ?? [];
    if (!isTopicName(topic) || names.length === 0 || names.includes('') || more.length > 0)
      faults.push(`${JSON.stringify(entry)} is not topic=group or topic=group+group`);
    else if (groups.has(topic)) faults.push(`topic ${topic} is named twice`);
    else if (new Set(names).size < names.length) faults.push(`topic ${topic} names a group twice`);
    else groups.set(topic, names);
  }
  return faults.length > 0 ? { kind: 'faults', faults } : { kind: 'parsed', groups };
}

/** The name under which a group stands among the holders of a partition. */
export function holderOf({ group }: Pick<GroupFloor, 'group'>): string {
  return `group ${group}`;
}

export interface PartitionEnds {
  readonly logStartOffset: Offset;
  /** Undefined where it is older than what the groups have committed. */
  readonly highWatermark: Offset | undefined;
}

/** The lowest of them; an unknown one holds from the log start on. Undefined without groups. */
export function lowestGroup(
  groups: readonly GroupFloor[],
  { logStartOffset }: Pick<PartitionEnds, 'logStartOffset'>,
): { readonly holder: string; readonly offset: Offset } | undefined {
  let lowest: { readonly holder: string; readonly offset: Offset } | undefined;
  for (const floor of groups) {
    const offset = floor.kind === 'committed' ? floor.offset : logStartOffset;
    if (lowest === undefined || offset < lowest.offset) lowest = { holder: holderOf(floor), offset };
  }
  return lowest;
}

const ADVICE = 'or take it out of TIDEMARK_GUARD_GROUPS';
const RESET = 'set its offsets with kafka-consumer-groups.sh --reset-offsets';

/** Why nothing may be cut because of a group, and what to do; undefined when none of them stands in the way of a mark. */
export function groupFault(
  groups: readonly GroupFloor[],
  { logStartOffset, highWatermark, mark }: PartitionEnds & { readonly mark: Offset },
): { readonly kind: 'held' | 'beyondLog'; readonly reason: string } | undefined {
  for (const floor of groups) {
    if (floor.kind === 'unknown') return { kind: 'held', reason: floor.reason };
    const who = `${holderOf(floor)} is at ${floor.offset}`;
    if (highWatermark !== undefined && floor.offset > highWatermark)
      return { kind: 'beyondLog', reason: `${who}, the log ends at ${highWatermark}: ${RESET}, ${ADVICE}` };
    if (floor.offset < logStartOffset)
      return {
        kind: 'held',
        reason: `${who}, the log begins at ${logStartOffset}: let it commit again, ${RESET}, ${ADVICE}`,
      };
    if (floor.offset < mark)
      return {
        kind: 'held',
        reason: `${who}, below the mark ${mark} that was never cut at: it went back; let it pass the mark, ${ADVICE}`,
      };
  }
  return undefined;
}

export function committedNothing(group: string, place: { readonly topic: string; readonly partition: number }): string {
  return `group ${group} has committed nothing in ${place.topic}/${place.partition}, so all of it is kept: let it commit, ${RESET}, ${ADVICE}`;
}

export function unreadable(group: string, why: string): string {
  return `where group ${group} goes on cannot be read, so everything is kept: ${why}`;
}
