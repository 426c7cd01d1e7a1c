import { guardScenarios } from './testing/guard-scenarios.ts';
import { createMemoryParts } from './testing/memory-parts.ts';

guardScenarios('in memory', async () => createMemoryParts());
