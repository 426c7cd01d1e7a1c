/** What the faults of a traversal work on, and what they note down for the judge. */
import type { Codec } from '@tidemark/contracts';
import type { CursorStore } from '@tidemark/cursors';
import type { LogCluster } from '@tidemark/log';
import type { PrivateService } from '@tidemark/testkit';
import type { Chance } from '@tidemark/testkit/chance';
import type { Pool } from 'pg';
import type { InHand, Span } from './bound.ts';
import type { JobDesk } from './job-desk.ts';
import type { ChaosRedis } from './private-redis.ts';
import type { TraversalFleet } from './programs.ts';
import type { Streams } from './streams.ts';

/** Times are those of the wall clock, which is the sink's, too. */
export interface Notes {
  /** From a kill or stop to the next grant, for each range that the victim held. */
  readonly takeoversMs: number[];
  /** What those that a fault hit held at that moment. */
  readonly inHand: InHand[];
  /** When a store was gone, with everything in it or with its newest part. */
  readonly lossesAtMs: number[];
  /** When no checkpoint could be written. */
  readonly outages: Span[];
  /** What must not have happened, as sentences. */
  readonly complaints: string[];
}

export interface Scene {
  readonly namespace: string;
  /** Of all programs. */
  readonly env: NodeJS.ProcessEnv;
  readonly kafka: string;
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly broker: PrivateService;
  readonly redis: ChaosRedis;
  readonly store: CursorStore;
  readonly pool: Pool;
  readonly fleet: TraversalFleet;
  readonly streams: Streams;
  readonly desk: JobDesk;
  readonly filledTopics: readonly string[];
  readonly cutTopic: string;
  readonly notes: Notes;
  readonly progress: (line: string) => void;
}

export type Inject = (scene: Scene, chance: Chance) => Promise<void>;
