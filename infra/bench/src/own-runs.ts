/** Our own runs, alone or in turns with peers, in the form that all reports share. */
import { type Measured, measureRuns, type TraverserEnv } from './measure.ts';
import { median } from './median.ts';
import { durableRate, runWithPeers } from './peers.ts';
import type { Progress } from './topic.ts';

export interface RunOptions {
  readonly kafka: string;
  readonly redis: string;
  readonly registry: string;
  readonly peers: readonly string[];
  readonly peersFolder: string;
  readonly cacheFolder: string;
  /** How long to wait at most before each run beside peers until the machine is quiet. */
  readonly quietSeconds: number;
  readonly inherited: NodeJS.ProcessEnv;
  readonly progress: Progress;
}

/** Medians of all runs. */
export interface Medians {
  readonly records: number;
  readonly records_per_s: number;
  /** User and system time of the whole process: bears a busy machine better than the rate does. */
  readonly cpu_s: number;
  readonly rss_mb: number;
  /** Records per second of each peer, and ours over theirs. */
  readonly peers?: Readonly<Record<string, number>>;
  readonly ratio?: Readonly<Record<string, number>>;
}

export function environmentOf({ kafka, redis, registry }: RunOptions, topic: string): TraverserEnv {
  return { KAFKA_BOOTSTRAP: kafka, BENCH_TOPIC: topic, TIDEMARK_REDIS: redis, TIDEMARK_REGISTRY: registry };
}

export async function runAlone(env: TraverserEnv, options: RunOptions): Promise<Medians> {
  return mediansOf(await measureRuns(env, options));
}

export function mediansOf(runs: readonly Measured[]): Medians {
  return {
    records: runs[0]?.records ?? 0,
    records_per_s: Math.round(median(runs.map((run) => run.records / run.seconds))),
    cpu_s: rounded(median(runs.map((run) => run.cpu_s))),
    rss_mb: Math.round(median(runs.map((run) => run.rssMb))),
  };
}

/** `work` is what the peers' harness calls it. */
export async function runBesidePeers(env: TraverserEnv, work: string, options: RunOptions): Promise<Medians> {
  const { ours, peers } = await runWithPeers({
    ...options,
    folder: options.peersFolder,
    names: options.peers,
    env,
    work,
  });
  const own = Math.round(median(ours.map((run) => run.records_per_s)));
  const theirs = [...peers].map(([name, runs]) => [name, Math.round(median(runs.map(durableRate)))] as const);
  return {
    records: ours[0]?.records ?? 0,
    records_per_s: own,
    cpu_s: rounded(median(ours.map((run) => run.cpu_s))),
    rss_mb: Math.round(median(ours.map((run) => run.rss_mb))),
    peers: Object.fromEntries(theirs),
    ratio: Object.fromEntries(theirs.map(([name, rate]) => [name, rounded(own / rate)])),
  };
}

export function rounded(value: number): number {
  return Number(value.toFixed(3));
}
