/** `relay --peers`: our relay and what other people would use, on one Postgres and one broker, in turns. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findPostgres, readConfig } from '@tidemark/stack';
import { deleteTopic, uniqueNamespace } from '@tidemark/testkit';
import { RUNS } from './limits.ts';
import { waitUntilQuiet } from './measure.ts';
import { median } from './median.ts';
import { type RunOptions, rounded } from './own-runs.ts';
import { buildPeers, peersFault, runCommand } from './peer-build.ts';
import { relaySetupSql } from './relay-setup.ts';

const RELAY = fileURLToPath(new URL('relay-under-test.ts', import.meta.url));
const OURS = 'tidemark';

/** What the harness calls the two works of each; one that only polls more often drains a backlog like the other. */
const WORKS: ReadonlyMap<string, { readonly backlog?: string; readonly steady: string }> = new Map([
  [OURS, { backlog: 'relay-backlog', steady: 'relay-steady' }],
  ['debezium', { backlog: 'relay-backlog-debezium', steady: 'relay-steady-debezium' }],
  ['debezium-poll10', { steady: 'relay-steady-debezium-tuned' }],
]);

/** One line of the harness. */
interface RelayRun {
  readonly records_per_s: number;
  readonly cpu_s: number;
  readonly rss_mb: number;
  readonly missing: number;
  readonly duplicates: number;
  readonly out_of_order: number;
  /** At the steady pace: from the return of a row's commit to its record at a waiting consumer. */
  readonly p50_ms?: number;
  readonly p99_ms?: number;
  readonly relay_cores?: number;
}

/** Medians. Without a backlog of its own a peer has only the latter half. */
export interface RelayFigures {
  readonly backlog_per_s?: number;
  /** Of the whole process that drained the backlog, its start included. */
  readonly cpu_s?: number;
  readonly rss_mb?: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
  /** Kept busy by the relay at the steady pace. */
  readonly steady_cores: number;
}

export interface RelayPeersReport extends RelayFigures {
  readonly work: 'relay';
  readonly rows: number;
  readonly peers: Readonly<Record<string, RelayFigures>>;
  /** Ours over theirs. */
  readonly ratio: Readonly<Record<string, Partial<Pick<RelayFigures, 'backlog_per_s' | 'p50_ms' | 'p99_ms'>>>>;
}

type Runs = Record<'backlog' | 'steady', RelayRun[]>;

/** Rounds over everybody, so that a slow spell of the machine hits all alike. */
export async function runRelayBesidePeers(options: RunOptions, rows: number): Promise<RelayPeersReport> {
  const built = await buildPeers({ ...options, folder: options.peersFolder, names: options.peers });
  const postgresPrograms = await findPostgres(readConfig(), options.progress);
  const everybody = [OURS, ...options.peers];
  const runs = new Map<string, Runs>(everybody.map((name) => [name, { backlog: [], steady: [] }]));
  for (let round = 1; round <= RUNS; round++) {
    for (const name of everybody) {
      for (const [kind, work] of Object.entries(WORKS.get(name) ?? {}) as [keyof Runs, string][]) {
        await waitUntilQuiet(options.quietSeconds);
        const args = kind === 'backlog' ? [work, String(rows)] : [work];
        const run = await runOnce(options, { built, postgresPrograms, isOurs: name === OURS, args });
        runs.get(name)?.[kind].push(run);
      }
    }
  }
  const figures = new Map([...runs].map(([name, of]) => [name, figuresOf(of)]));
  const ours = figures.get(OURS) as RelayFigures;
  const peers = Object.fromEntries([...figures].filter(([name]) => name !== OURS));
  const ratio = Object.fromEntries(Object.entries(peers).map(([name, theirs]) => [name, ratioOf(ours, theirs)]));
  return { work: 'relay', rows, ...ours, peers, ratio };
}

interface OneRun {
  readonly built: string;
  readonly postgresPrograms: string;
  readonly isOurs: boolean;
  readonly args: readonly string[];
}

/** The harness makes a fresh Postgres for each run, so each of ours has an outbox, and with it a namespace, of its own. */
async function runOnce(options: RunOptions, run: OneRun): Promise<RelayRun> {
  const { kafka, registry, inherited, progress } = options;
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
  const namespace = uniqueNamespace('bench');
  const setup = join(folder, 'outbox.sql');
  writeFileSync(setup, relaySetupSql(namespace));
  const ours = {
    RELAY_NAME: OURS,
    RELAY_CMD: [process.execPath, RELAY].map((word) => JSON.stringify(word)).join(' '),
    RELAY_SETUP_SQL: setup,
    TIDEMARK_NAMESPACE: namespace,
    TIDEMARK_REGISTRY: registry,
    TIDEMARK_LOG_LEVEL: 'warn',
  };
  const env = { ...inherited, KAFKA_BOOTSTRAP: kafka, PG_BIN: run.postgresPrograms, ...(run.isOurs ? ours : {}) };
  try {
    const lines = await runCommand('./run', run.args, { cwd: run.built, env, onLine: progress });
    return checked(lines, join(run.built, 'logs'));
  } finally {
    rmSync(folder, { recursive: true });
    if (run.isOurs) for (const own of ['relay', 'jobs']) await deleteTopic(`${namespace}.${own}`, { kafka });
  }
}

/** A run that lost, repeated or overtook a row is no result. */
function checked(lines: readonly string[], logs: string): RelayRun {
  const line = lines.find((text) => text.startsWith('{'));
  if (line === undefined) throw peersFault('PEER_RUN_FAILED', `a run gave no result; the logs are in ${logs}`);
  const run = JSON.parse(line) as RelayRun;
  if (run.missing === 0 && run.duplicates === 0 && run.out_of_order === 0) return run;
  throw peersFault('PEER_RUN_INEXACT', `a run did not carry every row once and in order: ${line}`);
}

function figuresOf({ backlog, steady }: Runs): RelayFigures {
  const of = (runs: readonly RelayRun[], value: (run: RelayRun) => number) => rounded(median(runs.map(value)));
  const drained = () => ({
    backlog_per_s: of(backlog, (run) => run.records_per_s),
    cpu_s: of(backlog, (run) => run.cpu_s),
    rss_mb: of(backlog, (run) => run.rss_mb),
  });
  return {
    ...(backlog.length === 0 ? {} : drained()),
    p50_ms: of(steady, (run) => run.p50_ms ?? Number.NaN),
    p99_ms: of(steady, (run) => run.p99_ms ?? Number.NaN),
    steady_cores: of(steady, (run) => run.relay_cores ?? Number.NaN),
  };
}

function ratioOf(ours: RelayFigures, theirs: RelayFigures) {
  const drained =
    ours.backlog_per_s === undefined || theirs.backlog_per_s === undefined
      ? {}
      : { backlog_per_s: rounded(ours.backlog_per_s / theirs.backlog_per_s) };
  return { ...drained, p50_ms: rounded(ours.p50_ms / theirs.p50_ms), p99_ms: rounded(ours.p99_ms / theirs.p99_ms) };
}
