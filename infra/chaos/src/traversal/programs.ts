/** The programs of a traversal. */
import { createFleet, type Fleet } from '../fleet.ts';

const SCRIPTS = {
  worker: 'services/worker/src/main.ts',
  distributor: 'services/distributor/src/main.ts',
  guard: 'services/retention-guard/src/main.ts',
} as const;

export type TraversalFleet = Fleet<keyof typeof SCRIPTS>;

export function createTraversalFleet(options: {
  readonly env: NodeJS.ProcessEnv;
  readonly progress: (line: string) => void;
}): TraversalFleet {
  return createFleet({ scripts: SCRIPTS, ...options });
}
