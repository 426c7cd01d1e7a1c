import { createMemoryParts } from './testing/memory-parts.ts';
import { distributorScenarios } from './testing/scenarios.ts';

distributorScenarios('in memory', async () => createMemoryParts(), { jobs: 1_000, timeoutMs: 300_000 });
