/** Runs the traverser as its own process and measures it from outside, as the peers' harness does. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import { WORKER_NODE_ARGUMENTS } from '@tidemark/stack';
import { NOISY_CORES, QUIET_LOOK_MS, RSS_POLL_MS, RUNS } from './limits.ts';
import type { Progress } from './topic.ts';

export const TRAVERSER = fileURLToPath(new URL('traverser.ts', import.meta.url));
/** Reads the same topic as an audit does. */
const AUDITOR = fileURLToPath(new URL('auditor.ts', import.meta.url));

/** What the traverser prints. */
export interface TraverserResult {
  readonly records: number;
  readonly bytes: number;
  /** From the first line of the program to the last durable cursor. */
  readonly seconds: number;
  /** User and system time of the process until then. */
  readonly cpu_s: number;
  /** Of the blocking handler: the most calls at once, and what one call took. */
  readonly calls?: { readonly most: number; readonly mean_ms: number };
  /** What the job has in Redis when it is over. */
  readonly state?: { readonly keys: number; readonly bytes: number };
}

export interface Measured extends TraverserResult {
  /** Peak resident memory. */
  readonly rssMb: number;
  /** Cores kept busy by anything but the traverser: broker and Redis, too, so it is only a hint of noise. */
  readonly otherCores: number;
}

export interface TraverserEnv {
  readonly KAFKA_BOOTSTRAP: string;
  readonly BENCH_TOPIC: string;
  readonly TIDEMARK_REDIS: string;
  readonly TIDEMARK_REGISTRY: string;
  readonly BENCH_RECORDS?: string;
  readonly BENCH_WORK?: 'count' | 'blocking';
  readonly BENCH_STATE?: '1';
}

export async function measureTraverser(
  env: TraverserEnv,
  inherited: NodeJS.ProcessEnv,
  script = TRAVERSER,
): Promise<Measured> {
  const cpuBefore = machineCpuSeconds();
  const beganMs = performance.now();
  const child = spawn(process.execPath, [...WORKER_NODE_ARGUMENTS, script], {
    env: { ...inherited, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  let rssMb = 0;
  let childCpu = 0;
  const watch = setInterval(() => {
    rssMb = Math.max(rssMb, peakRssMb(child.pid ?? 0));
    childCpu = Math.max(childCpu, cpuSeconds(child.pid ?? 0));
  }, RSS_POLL_MS);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  );
  clearInterval(watch);
  process.off('exit', kill);
  const line = output.split('\n').findLast((text) => text.startsWith('{'));
  if (code !== 0 || line === undefined) throw failedRun(code);
  const result = JSON.parse(line) as TraverserResult;
  const wallSeconds = (performance.now() - beganMs) / 1_000;
  return { ...result, rssMb, otherCores: (machineCpuSeconds() - cpuBefore - childCpu) / wallSeconds };
}

function failedRun(code: number | null): TidemarkError {
  return new TidemarkError({
    code: 'BENCH_RUN_FAILED',
    class: ErrorClass.transient,
    message: `the traverser failed with exit code ${code}`,
  });
}

/** VmHWM: the most that was ever resident. 0 where there is no /proc or the process is gone. */
function peakRssMb(pid: number): number {
  const match = /^VmHWM:\s+(\d+) kB/m.exec(readProc(`/proc/${pid}/status`));
  return Number(match?.[1] ?? 0) / 1_024;
}

const TICKS_PER_SECOND = 100; // USER_HZ on Linux.

function cpuSeconds(pid: number): number {
  const stat = readProc(`/proc/${pid}/stat`);
  // The name of the program may hold blanks, so fields are counted from behind it: utime and stime are 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND;
}

function machineCpuSeconds(): number {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = (
    /^cpu .*/m.exec(readProc('/proc/stat'))?.[0] ?? ''
  )
    .split(/\s+/)
    .map(Number);
  return (user + nice + system + irq + softirq) / TICKS_PER_SECOND;
}

/** Gives up after so many seconds: a run on a busy machine is better than none. */
export async function waitUntilQuiet(seconds: number): Promise<void> {
  for (const beganMs = performance.now(); performance.now() - beganMs < seconds * 1_000; ) {
    const before = machineCpuSeconds();
    await sleep(QUIET_LOOK_MS);
    if ((machineCpuSeconds() - before) / (QUIET_LOOK_MS / 1_000) < NOISY_CORES) return;
  }
}

function readProc(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Medians of three: one disturbed run does no harm. */
export async function measureRuns(env: TraverserEnv, options: MeasureOptions): Promise<readonly Measured[]> {
  const runs: Measured[] = [];
  for (let round = 1; round <= RUNS; round++) runs.push(await measureRun(`run ${round}`, TRAVERSER, env, options));
  return runs;
}

/** Traversals and audits in turns. */
export async function measureAudits(
  env: TraverserEnv,
  options: MeasureOptions,
): Promise<{ readonly traversals: readonly Measured[]; readonly audits: readonly Measured[] }> {
  const traversals: Measured[] = [];
  const audits: Measured[] = [];
  for (let round = 1; round <= RUNS; round++) {
    traversals.push(await measureRun(`traversal ${round}`, TRAVERSER, env, options));
    audits.push(await measureRun(`audit ${round}`, AUDITOR, env, options));
  }
  return { traversals, audits };
}

interface MeasureOptions {
  readonly inherited: NodeJS.ProcessEnv;
  readonly progress: Progress;
}

async function measureRun(
  name: string,
  script: string,
  env: TraverserEnv,
  { inherited, progress }: MeasureOptions,
): Promise<Measured> {
  const run = await measureTraverser(env, inherited, script);
  const noise = run.otherCores > NOISY_CORES ? ', a busy machine' : '';
  const rate = Math.round(run.records / run.seconds);
  progress(
    `${name}: ${run.records} records in ${run.seconds.toFixed(2)} s = ${rate}/s, ${run.cpu_s.toFixed(2)} s of processor time, ${Math.round(run.rssMb)} MB, others kept ${run.otherCores.toFixed(2)} cores busy${noise}`,
  );
  return run;
}
