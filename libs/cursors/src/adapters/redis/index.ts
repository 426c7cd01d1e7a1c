export { createRedisCursorStore } from './cursor-store.ts';
export { createRedisFloorStore } from './floor-store.ts';
export { createRedisLeadership } from './leadership.ts';
export { createRedisSchedule } from './schedule.ts';
