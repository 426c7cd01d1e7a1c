import { distributorScenarios } from './testing/scenarios.ts';
import { createServiceParts } from './testing/service-parts.ts';

distributorScenarios('real services', () => createServiceParts(), { jobs: 100, timeoutMs: 600_000 });
