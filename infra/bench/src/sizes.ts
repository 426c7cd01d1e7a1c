/** `traverse --sizes`: what grows with the number of records, in the memory of the process and in Redis. */
import { SETTLED_SIZES, STATE_BYTES_RATIO_MAX, TRAVERSE_SIZES } from './limits.ts';
import { measureRuns } from './measure.ts';
import { median } from './median.ts';
import { environmentOf, mediansOf, type RunOptions, rounded } from './own-runs.ts';
import { slopeOf } from './slope.ts';
import { ensureTraverseTopic, TRAVERSE_TOPIC } from './topic.ts';

export interface SizeReport {
  readonly records: number;
  readonly records_per_s: number;
  readonly rss_mb: number;
  readonly redis_keys: number;
  readonly redis_bytes: number;
}

export interface SizesReport {
  readonly work: 'sizes';
  readonly sizes: readonly SizeReport[];
  /** Of the straight line through all sizes; the smaller ones are over before V8's young generation has its size. */
  readonly rss_mb_per_million: number;
  /** Of the line through the sizes from which on it has. */
  readonly settled_rss_mb_per_million: number;
  /** The most of any size over the least. */
  readonly rss_ratio: number;
  readonly redis: { readonly same_keys: boolean; readonly bytes_ratio: number; readonly flat: boolean };
}

export async function runSizes(options: RunOptions): Promise<SizesReport> {
  await ensureTraverseTopic(options.kafka.split(','), options.progress);
  const env = environmentOf(options, TRAVERSE_TOPIC);
  const sizes: SizeReport[] = [];
  for (const records of TRAVERSE_SIZES) {
    const runs = await measureRuns({ ...env, BENCH_RECORDS: String(records), BENCH_STATE: '1' }, options);
    const { records_per_s, rss_mb } = mediansOf(runs);
    const redis_keys = median(runs.map(({ state }) => state?.keys ?? 0));
    const redis_bytes = median(runs.map(({ state }) => state?.bytes ?? 0));
    sizes.push({ records, records_per_s, rss_mb, redis_keys, redis_bytes });
  }
  const rss = sizes.map(({ rss_mb }) => rss_mb);
  const points = sizes.map(({ records, rss_mb }) => ({ x: records / 1_000_000, y: rss_mb }));
  return {
    work: 'sizes',
    sizes,
    rss_mb_per_million: rounded(slopeOf(points)),
    settled_rss_mb_per_million: rounded(slopeOf(points.slice(-SETTLED_SIZES))),
    rss_ratio: rounded(Math.max(...rss) / Math.min(...rss)),
    redis: redisVerdict(sizes),
  };
}

function redisVerdict(sizes: readonly SizeReport[]): SizesReport['redis'] {
  const bytes = sizes.map(({ redis_bytes }) => redis_bytes);
  const ratio = Math.max(...bytes) / Math.min(...bytes);
  const sameKeys = new Set(sizes.map(({ redis_keys }) => redis_keys)).size === 1;
  return { same_keys: sameKeys, bytes_ratio: rounded(ratio), flat: sameKeys && ratio <= STATE_BYTES_RATIO_MAX };
}
