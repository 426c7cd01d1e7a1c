/** `blocking`: a handler that sleeps, in the order of keys, alone or in one run with peers. */
import { BLOCKING_IDEAL_PER_S, BLOCKING_SLEEP_MS } from './limits.ts';
import { environmentOf, type Medians, type RunOptions, runAlone, runBesidePeers } from './own-runs.ts';
import { BLOCKING_TOPIC, ensureBlockingTopic } from './topic.ts';

export interface BlockingReport extends Medians {
  readonly work: 'blocking';
  /** What so many sleepers could do at most. */
  readonly ideal: number;
}

export async function runBlocking(options: RunOptions): Promise<BlockingReport> {
  await ensureBlockingTopic(options.kafka.split(','), options.progress);
  const env = { ...environmentOf(options, BLOCKING_TOPIC), BENCH_WORK: 'blocking' } as const;
  const work = `blocking-${BLOCKING_SLEEP_MS}ms`;
  const own = await (options.peers.length === 0 ? runAlone(env, options) : runBesidePeers(env, work, options));
  return { work: 'blocking', ideal: BLOCKING_IDEAL_PER_S, ...own };
}
