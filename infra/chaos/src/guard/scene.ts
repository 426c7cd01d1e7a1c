/** What the faults of a guarded log work on: a traversal, and what watches its floors. */
import type { Chance } from '@tidemark/testkit/chance';
import type { Scene } from '../traversal/scene.ts';
import type { Group } from './group.ts';
import type { Load } from './load.ts';
import type { Sampler } from './sampler.ts';

export interface GuardScene extends Scene {
  readonly seriesTopic: string;
  readonly groupTopic: string;
  /** Where a job may hold for a while, and is released then. */
  readonly releasedTopic: string;
  /** Where a job holds for ever, with an alarm. */
  readonly keptTopic: string;
  readonly group: Group;
  readonly load: Load;
  readonly sampler: Sampler;
}

export type GuardInject = (scene: GuardScene, chance: Chance) => Promise<void>;
