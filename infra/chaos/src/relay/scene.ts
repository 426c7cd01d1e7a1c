/** What the faults of a relay work on, and what they note down for the judge. */
import type { LogCluster } from '@tidemark/log';
import type { PrivatePostgres, PrivateService } from '@tidemark/testkit';
import type { Chance } from '@tidemark/testkit/chance';
import type { Fleet } from '../fleet.ts';
import type { Ledger } from './ledger.ts';
import type { Load } from './load.ts';
import type { Session } from './sessions.ts';
import type { Topics } from './stage.ts';
import type { Tail } from './tail.ts';

export interface Notes {
  /** From a kill or stop of the relay that published to the first row of the next one. */
  readonly takeoversMs: number[];
  /** Rows of a huge transaction that were in the topic when the relay was killed. */
  readonly hugeSeenAtKill: number[];
  /** Sessions of the relay that were ended in the database. */
  cutSessions: number;
  /** What must not have happened, as sentences. */
  readonly complaints: string[];
}

export interface Scene {
  readonly namespace: string;
  readonly topics: Topics;
  readonly kafka: string;
  readonly broker: PrivateService;
  readonly postgres: PrivatePostgres;
  readonly fleet: Fleet<'relay'>;
  readonly cluster: LogCluster;
  readonly tail: Tail;
  readonly load: Load;
  readonly ledger: Ledger;
  /** A session for a fault of its own; the caller closes it. */
  openSession(): Session;
  /** A name that nothing else in this run has. */
  freshName(prefix: string): string;
  readonly notes: Notes;
  readonly progress: (line: string) => void;
}

export type Inject = (scene: Scene, chance: Chance) => Promise<void>;
