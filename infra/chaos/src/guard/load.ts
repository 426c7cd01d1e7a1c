/** Slow and fast jobs, asked for all the time. What they cover is read from their pins. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Chance } from '@tidemark/testkit/chance';
import type { AskedJob } from '../traversal/job-desk.ts';
import { Mode } from '../traversal/misbehaviour.ts';
import type { Scene } from '../traversal/scene.ts';
import { FAST_RECORDS, OPEN_JOBS_MAX, REQUEST_EVERY_MS, SLOW_RECORDS } from './limits.ts';

export interface Load {
  /** Rejects when asking fails. */
  readonly failed: Promise<never>;
  stop(): Promise<void>;
}

export function startLoad(scene: Scene, chance: Chance): Load {
  let isStopped = false;
  const askAgainAndAgain = async (): Promise<void> => {
    while (!isStopped) {
      await delay(REQUEST_EVERY_MS);
      // Drawn whether or not a job comes of it, so that the draws do not depend on how fast jobs end.
      const topic = chance.pick(scene.filledTopics);
      const kind = chance.pick(['slow', 'slow', 'recent', 'whole'] as const);
      const ordering = chance.pick(['none', 'key', 'partition'] as const);
      if (scene.desk.openJobs().length >= OPEN_JOBS_MAX) continue;
      if (kind === 'whole') await askWhole(scene, topic, ordering);
      else await askRecent(scene, topic, { ordering, isSlow: kind === 'slow' });
    }
  };
  const asking = askAgainAndAgain();
  const failed = asking.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  return {
    failed,
    async stop() {
      isStopped = true;
      await asking.catch(() => undefined);
    },
  };
}

/** Everything that the log still has, so its first records are those that the guards would cut next. */
export function askWhole({ desk }: Scene, topic: string, ordering: string): Promise<AskedJob> {
  const request = { from: 'earliest', to: 'now' };
  return desk.ask({ topic, ordering, mode: undefined, isExact: false, windows: [], request });
}

async function askRecent(
  { desk, streams }: Scene,
  topic: string,
  { ordering, isSlow }: { readonly ordering: string; readonly isSlow: boolean },
): Promise<void> {
  const records = BigInt(isSlow ? SLOW_RECORDS : FAST_RECORDS);
  const windows = [...streams.acknowledged(topic)]
    .filter(([, end]) => end > 0n)
    .map(([partition, end]) => ({ partition, first: end > records ? end - records : 0n, last: end - 1n }));
  if (windows.length === 0) return;
  const request = isSlow ? { handler: 'chaos-slow' } : {};
  await desk.ask({ topic, ordering, mode: isSlow ? Mode.slow : undefined, isExact: true, windows, request });
}
