/** Child processes that outlive the launcher, known by pid *and* start time, because a pid alone is used again after a reboot. */
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StackError } from './errors.ts';
import { LOG_TAIL_LINES, STOP_TIMEOUT_MS } from './limits.ts';

export interface ProcessIdentity {
  pid: number;
  /** Opaque; differs between two processes that had the same pid. */
  startedAt: string;
}

export function identify(pid: number): ProcessIdentity | undefined {
  const startedAt = startTimeOf(pid);
  return startedAt === undefined ? undefined : { pid, startedAt };
}

export function isAlive(identity: ProcessIdentity): boolean {
  return startTimeOf(identity.pid) === identity.startedAt;
}

/** Linux tells the start in clock ticks since boot; elsewhere `ps` tells it to the second. A zombie counts as gone. */
function startTimeOf(pid: number): string | undefined {
  if (process.platform === 'linux') {
    let stat: string;
    try {
      stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    } catch {
      return undefined;
    }
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the name before may hold spaces
    return fields[0] === 'Z' ? undefined : `${bootId()}/${fields[19]}`;
  }
  const ps = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' });
  const text = (ps.stdout ?? '').trim();
  return text === '' || text.startsWith('Z') ? undefined : text.replace(/^\S+\s+/, '');
}

function bootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim().slice(0, 8);
  } catch {
    return '';
  }
}

export function startDetached(options: {
  command: string;
  args: string[];
  logFile: string;
  cwd: string;
  env?: NodeJS.ProcessEnv;
}): Promise<ProcessIdentity> {
  mkdirSync(dirname(options.logFile), { recursive: true });
  const log = openSync(options.logFile, 'w');
  const child = spawn(options.command, options.args, {
    cwd: options.cwd,
    detached: true,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(new StackError(`${options.command} could not be started: ${error.message}`)));
    child.once('spawn', () => {
      child.unref();
      const pid = child.pid ?? -1;
      // One that ended at once has no start time any more; its log tells why.
      resolve(identify(pid) ?? { pid, startedAt: 'ended' });
    });
  });
}

/** Asks the process to end, waits, and kills it when it does not. */
export async function stopProcess(
  identity: ProcessIdentity,
  options: { signal?: NodeJS.Signals; timeoutMs?: number } = {},
): Promise<void> {
  if (!isAlive(identity)) return;
  sendSignal(identity.pid, options.signal ?? 'SIGTERM');
  if (await waitForEnd(identity, options.timeoutMs ?? STOP_TIMEOUT_MS)) return;
  sendSignal(identity.pid, 'SIGKILL');
  await waitForEnd(identity, STOP_TIMEOUT_MS);
}

export async function waitForEnd(identity: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (isAlive(identity)) {
    if (performance.now() > deadline) return false;
    await delay(50);
  }
  return true;
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended between the look and the signal.
  }
}

export function tailOf(logFile: string): string {
  if (!existsSync(logFile)) return '';
  const lines = readFileSync(logFile, 'utf8').trimEnd().split('\n');
  return lines.slice(-LOG_TAIL_LINES).join('\n');
}

/** A reader never sees half a file, and a crash leaves the old one. */
export function writeJson(file: string, value: unknown): void {
  mkdirSync(dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(value, null, 2)}\n`);
  renameSync(temporary, file);
}

export function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

export function removeFile(file: string): void {
  rmSync(file, { force: true });
}
