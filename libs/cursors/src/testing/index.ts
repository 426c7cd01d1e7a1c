export { createMemoryCursorStore, type MemoryCursorStore } from './memory-cursor-store.ts';
export { createMemoryFloorStore, type MemoryFloorStore } from './memory-floor-store.ts';
export { createMemoryLeadership } from './memory-leadership.ts';
export { createMemorySchedule } from './memory-schedule.ts';
