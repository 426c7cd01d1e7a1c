/** `traverse`: one worker process over 2,000,000 records, alone or in one run with peers. */
import { TRAVERSE_SMALL_RECORDS } from './limits.ts';
import { environmentOf, type Medians, type RunOptions, rounded, runAlone, runBesidePeers } from './own-runs.ts';
import { ensureTraverseTopic, TRAVERSE_TOPIC } from './topic.ts';

export interface TraverseReport extends Medians {
  readonly work: 'traverse';
  /** Peak memory at 2,000,000 records over that at 100,000: 1 means that memory does not depend on the number. */
  readonly rss_ratio: number;
}

export async function runTraverse(options: RunOptions): Promise<TraverseReport> {
  await ensureTraverseTopic(options.kafka.split(','), options.progress);
  const env = environmentOf(options, TRAVERSE_TOPIC);
  const small = await runAlone({ ...env, BENCH_RECORDS: String(TRAVERSE_SMALL_RECORDS) }, options);
  const own = await (options.peers.length === 0 ? runAlone(env, options) : runBesidePeers(env, 'traversal', options));
  return { work: 'traverse', ...own, rss_ratio: rounded(own.rss_mb / small.rss_mb) };
}
