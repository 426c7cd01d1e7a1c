import { leadershipContract } from './leadership.contract.ts';
import { createMemoryLeadership } from './memory-leadership.ts';

leadershipContract('in memory', async () => createMemoryLeadership({ now: Date.now }));
