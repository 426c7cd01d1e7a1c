/** Peers: what one would use instead of this project, measured in the same run by their own harness. */
import { join } from 'node:path';
import { WORKER_NODE_ARGUMENTS } from '@tidemark/stack';
import { RUNS } from './limits.ts';
import { TRAVERSER, type TraverserEnv } from './measure.ts';
import { type BuildOptions, buildPeers, peersFault, runCommand } from './peer-build.ts';

/** The harness calls whatever it is given from outside `worker`. */
const OURS = 'worker';
const OURS_NAME = 'tidemark';

/** One line of the harness. */
export interface PeerRun {
  readonly peer: string;
  readonly records: number;
  readonly records_per_s: number;
  readonly seconds: number;
  /** Of a peer that commits in the background: what it still takes after `seconds` until its last position is durable. */
  readonly close_s?: number;
  readonly rss_mb: number;
  readonly cpu_s: number;
  readonly others_busy_cores: number;
}

/** Until the last position is durable, as ours is measured: a peer that commits in the background has not finished before. */
export function durableRate({
  records,
  seconds,
  close_s = 0,
}: Pick<PeerRun, 'records' | 'seconds' | 'close_s'>): number {
  return records / (seconds + close_s);
}

export interface PeersOptions extends BuildOptions {
  readonly env: TraverserEnv;
  /** What the harness calls the work. */
  readonly work: string;
  readonly quietSeconds: number;
}

/** Rounds over ourselves and the peers, so that a slow spell of the machine hits all alike. Runs by name; ours is `ours`. */
export async function runWithPeers(
  options: PeersOptions,
): Promise<{ readonly ours: readonly PeerRun[]; readonly peers: ReadonlyMap<string, readonly PeerRun[]> }> {
  const built = await buildPeers(options);
  const env = {
    ...options.inherited,
    ...options.env,
    WORKER_NAME: OURS_NAME,
    WORKER_WORK: options.work,
    WORKER_CMD: [process.execPath, ...WORKER_NODE_ARGUMENTS, TRAVERSER].map((word) => JSON.stringify(word)).join(' '),
    QUIET_S: String(options.quietSeconds),
  };
  const output = await runCommand('./run', ['all', String(RUNS), OURS, ...options.names], {
    cwd: built,
    env,
    onLine: options.progress,
  });
  const runs = output.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as PeerRun);
  const expected = RUNS * (options.names.length + 1);
  if (runs.length !== expected)
    throw peersFault(
      'PEER_RUN_FAILED',
      `${expected - runs.length} of ${expected} runs failed; their logs are in ${join(built, 'logs')}`,
    );
  // Some peers name themselves a little differently than they are called, so runs are told apart by their place in a round.
  const names = [OURS, ...options.names];
  const runsOf = (place: number): readonly PeerRun[] => runs.filter((_, index) => index % names.length === place);
  return { ours: runsOf(0), peers: new Map(options.names.map((name, place) => [name, runsOf(place + 1)])) };
}
