/**
 * The messenger that `npm start` plays: who is in which group, who posts what, what is recalled, who left, who muted.
 * Pure and fixed by the seed, so a run can be checked against what must come out of it, row by row.
 */

export interface WorldSize {
  readonly users: number;
  readonly groups: number;
  readonly messages: number;
  /** Members of the largest and of the smallest group. */
  readonly groupLargest: number;
  readonly groupSmallest: number;
  readonly recalledMessages: number;
  readonly leftMembers: number;
  readonly mutedMembers: number;
}

export interface Membership {
  readonly groupId: number;
  readonly memberId: number;
}

export interface Message {
  readonly id: number;
  readonly groupId: number;
  readonly senderId: number;
  readonly body: string;
}

export interface World {
  readonly groupSizes: readonly number[];
  readonly memberships: readonly Membership[];
  readonly messages: readonly Message[];
  /** Message ids. */
  readonly recalled: readonly number[];
  readonly left: readonly Membership[];
  readonly muted: readonly Membership[];
}

/** 5,000 messages to 60 members on the average: about 300,000 inbox rows. */
export const MAIN_JOB_SIZE: WorldSize = {
  users: 20_000,
  groups: 300,
  messages: 5_000,
  groupLargest: 5_000,
  groupSmallest: 2,
  recalledMessages: 60,
  leftMembers: 200,
  mutedMembers: 200,
};

/** Group k of 300 has 5000 / k^1.25 members: a few are crowds, most are a handful of people; the mean is 60. */
const SKEW = 1.25;

export function planWorld(size: WorldSize, seed: number): World {
  const random = randomFrom(seed);
  const groupSizes = Array.from({ length: size.groups }, (_, k) =>
    Math.max(size.groupSmallest, Math.round(size.groupLargest * (k + 1) ** -SKEW)),
  );
  const memberships = groupSizes.flatMap((members, k) =>
    membersOf({ groupId: k + 1, members, users: size.users, random }),
  );
  const byGroup = Map.groupBy(memberships, ({ groupId }) => groupId);
  const order = shuffled(
    groupSizes.map((_, k) => k + 1),
    random,
  );
  const messages = Array.from({ length: size.messages }, (_, i): Message => {
    const groupId = order[i % order.length] ?? 1;
    const senderId = pick(byGroup.get(groupId) ?? [], random).memberId;
    return { id: i + 1, groupId, senderId, body: bodyOf(i + 1, random) };
  });
  const gone = shuffled(memberships, random);
  return {
    groupSizes,
    memberships,
    messages,
    recalled: shuffled(messages, random)
      .slice(0, size.recalledMessages)
      .map(({ id }) => id)
      .sort((a, b) => a - b),
    left: gone.slice(0, size.leftMembers),
    muted: gone.slice(size.leftMembers, size.leftMembers + size.mutedMembers),
  };
}

export interface ExpectedDelivery {
  readonly inboxRows: number;
  /** `message/member/reason`, member `-` for a skip of the whole message. */
  readonly skips: ReadonlySet<string>;
}

/** What must come out of these messages, from the plan alone: no database is asked. */
export function expectedDelivery(world: World, messages: readonly Message[] = world.messages): ExpectedDelivery {
  const recalled = new Set(world.recalled);
  const absent = new Map<string, string>();
  for (const { groupId, memberId } of world.muted) absent.set(`${groupId}/${memberId}`, 'muted');
  for (const { groupId, memberId } of world.left) absent.set(`${groupId}/${memberId}`, 'left');
  const byGroup = Map.groupBy(world.memberships, ({ groupId }) => groupId);
  const skips = new Set<string>();
  let inboxRows = 0;
  for (const { id, groupId } of messages) {
    if (recalled.has(id)) {
      skips.add(`${id}/-/recalled`);
      continue;
    }
    for (const { memberId } of byGroup.get(groupId) ?? []) {
      const reason = absent.get(`${groupId}/${memberId}`);
      if (reason === undefined) inboxRows++;
      else skips.add(`${id}/${memberId}/${reason}`);
    }
  }
  return { inboxRows, skips };
}

/** Different members without keeping a set: steps of a stride that has no factor in common with the number of users. */
function membersOf(options: {
  groupId: number;
  members: number;
  users: number;
  random: () => number;
}): readonly Membership[] {
  const { groupId, members, users, random } = options;
  const first = Math.floor(random() * users);
  let stride = 1 + Math.floor(random() * (users - 1));
  while (greatestCommonDivisor(stride, users) !== 1) stride = (stride % (users - 1)) + 1;
  return Array.from({ length: members }, (_, i) => ({ groupId, memberId: ((first + i * stride) % users) + 1 }));
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

const WORDS = [
  'lunch',
  'is',
  'the',
  'deploy',
  'green',
  'who',
  'has',
  'keys',
  'see',
  'you',
  'at',
  'noon',
  'thanks',
  'ship',
  'it',
  'tomorrow',
] as const;

function bodyOf(id: number, random: () => number): string {
  const words = Array.from({ length: 6 + Math.floor(random() * 8) }, () => pick(WORDS, random));
  return `#${id} ${words.join(' ')}`;
}

function pick<T>(items: readonly T[], random: () => number): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new RangeError('nothing to pick from');
  return item;
}

function shuffled<T>(items: readonly T[], random: () => number): readonly T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    const [a, b] = [result[i], result[j]];
    if (a === undefined || b === undefined) continue;
    result[i] = b;
    result[j] = a;
  }
  return result;
}

/** Numbers in [0, 1) from a 32-bit counter mixed by the finalizer of MurmurHash3 (public domain): well spread, and the same everywhere. */
export function randomFrom(seed: number): () => number {
  let counter = seed | 0;
  return () => {
    counter = (counter + 0x9e3779b9) | 0;
    let mixed = counter ^ (counter >>> 16);
    mixed = Math.imul(mixed, 0x85ebca6b);
    mixed ^= mixed >>> 13;
    mixed = Math.imul(mixed, 0xc2b2ae35);
    mixed ^= mixed >>> 16;
    return (mixed >>> 0) / 2 ** 32;
  };
}
