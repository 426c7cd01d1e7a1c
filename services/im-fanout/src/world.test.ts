import { expect, it } from 'vitest';
import { expectedDelivery, MAIN_JOB_SIZE, planWorld, type World } from './world.ts';

const SEED = 7;

it('is the same for the same seed and another one for another', () => {
  const small = {
    ...MAIN_JOB_SIZE,
    users: 100,
    groups: 5,
    messages: 20,
    groupLargest: 30,
    recalledMessages: 2,
    leftMembers: 3,
    mutedMembers: 3,
  };
  expect(planWorld(small, 1)).toEqual(planWorld(small, 1));
  expect(planWorld(small, 1)).not.toEqual(planWorld(small, 2));
});

it('has the promised size: skewed groups from 2 to 5,000 members and about 300,000 inbox rows to come', () => {
  const world = planWorld(MAIN_JOB_SIZE, SEED);
  expect(world.groupSizes).toHaveLength(300);
  expect(Math.max(...world.groupSizes)).toBe(5_000);
  expect(Math.min(...world.groupSizes)).toBeGreaterThanOrEqual(2);
  expect(world.messages).toHaveLength(5_000);
  const { inboxRows, skips } = expectedDelivery(world);
  expect(inboxRows).toBeGreaterThan(270_000);
  expect(inboxRows).toBeLessThan(330_000);
  expect(skips.size).toBeGreaterThan(60);
});

it('never has a member twice in one group, nor a message from a stranger', () => {
  const world = planWorld(MAIN_JOB_SIZE, SEED);
  const names = new Set(world.memberships.map(({ groupId, memberId }) => `${groupId}/${memberId}`));
  expect(names.size).toBe(world.memberships.length);
  expect(world.messages.every(({ groupId, senderId }) => names.has(`${groupId}/${senderId}`))).toBe(true);
  expect(world.left.some((gone) => world.muted.includes(gone))).toBe(false);
});

it('expects a row for each member who is there, and one named skip for each who is not', () => {
  const world: World = {
    groupSizes: [3],
    memberships: [1, 2, 3].map((memberId) => ({ groupId: 1, memberId })),
    messages: [10, 11].map((id) => ({ id, groupId: 1, senderId: 1, body: '' })),
    recalled: [11],
    left: [{ groupId: 1, memberId: 2 }],
    muted: [{ groupId: 1, memberId: 3 }],
  };
  expect(expectedDelivery(world)).toEqual({
    inboxRows: 1,
    skips: new Set(['10/2/left', '10/3/muted', '11/-/recalled']),
  });
});
