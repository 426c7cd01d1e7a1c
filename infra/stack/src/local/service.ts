/** What the launcher and the private services of tests need to know of a local process. */
import type { ServiceName } from '../config.ts';
import type { ProcessIdentity } from '../processes.ts';

export interface LocalService {
  name: ServiceName;
  /** Where clients find it, see {@link Endpoints}. */
  address: string;
  /** Every port that it listens on. */
  ports: readonly number[];
  logFile: string;
  /** Prepares its folder when that is new or half made, and starts the process. It need not be ready yet. */
  start(): Promise<ProcessIdentity>;
  /** What is left to do once it answers. */
  settle(): Promise<void>;
}

/** The polite way to end each; it gets time to write its data. For Postgres SIGINT is "fast": sessions are ended, not waited for. */
export const STOP_SIGNALS: Readonly<Record<ServiceName, NodeJS.Signals>> = {
  kafka: 'SIGTERM',
  redis: 'SIGTERM',
  postgres: 'SIGINT',
  registry: 'SIGTERM',
};
