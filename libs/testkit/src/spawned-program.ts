/** One of our programs as a process of its own, for tests that kill it. Its log lines are events to wait for. */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { endsWithProcess } from './ends-with-process.ts';
import { LOG_LINES_KEPT, PROGRAM_LOG_WAIT_MS } from './limits.ts';

export interface ProgramToSpawn {
  /** Path of the script, absolute or inside the checkout. */
  readonly script: string;
  readonly args?: readonly string[];
  /** Beside the environment of the test. */
  readonly env?: NodeJS.ProcessEnv;
}

/** A line of the log, as an object. */
export type LoggedLine = Readonly<Record<string, unknown>>;

export interface ProgramExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface SpawnedProgram {
  readonly pid: number;
  /** Resolves at the first line, printed already or yet to come, that contains the text; throws when the program ends before. */
  printed(text: string, timeoutMs?: number): Promise<string>;
  /** The same for a line of the log whose message is the event. */
  logged(event: string, timeoutMs?: number): Promise<LoggedLine>;
  /** The last lines of stdout and stderr, in the order in which they came. */
  readonly lines: readonly string[];
  /** Those of them that are lines of the log. */
  log(): readonly LoggedLine[];
  /** The last lines of one stream. */
  stdout(): string;
  stderr(): string;
  /** Sends the signal and does not wait. */
  signal(signal: NodeJS.Signals): void;
  /** Sends the signal and waits for the end. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Resolves when the process is gone and everything it wrote was read. */
  readonly exit: Promise<ProgramExit>;
}

const ROOT = resolve(import.meta.dirname, '../../..');

export function spawnProgram({ script, args = [], env = {} }: ProgramToSpawn): SpawnedProgram {
  const child = spawn(process.execPath, [resolve(ROOT, script), ...args], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid === undefined) throw new Error(`${script} did not start`);
  const hasEnded = endsWithProcess(() => void child.kill('SIGKILL'));
  const exit = new Promise<ProgramExit>((done) => {
    child.once('close', (code, signal) => {
      hasEnded();
      done({ code, signal });
    });
  });
  const lines: string[] = [];
  const watchers = new Set<(line: string) => void>();
  const keepOf = (stream: NodeJS.ReadableStream): (() => string) => {
    const own: string[] = [];
    createInterface({ input: stream }).on('line', (line) => {
      for (const kept of [lines, own]) if (kept.push(line) > LOG_LINES_KEPT) kept.shift();
      for (const offer of watchers) offer(line);
    });
    return () => own.map((line) => `${line}\n`).join('');
  };

  /** The first line that `match` answers for, among those that are there and those that come. */
  const found = <T>(what: string, match: (line: string) => T | undefined, timeoutMs: number): Promise<T> => {
    const present = lines.map(match).find((answer) => answer !== undefined);
    if (present !== undefined) return Promise.resolve(present);
    return new Promise((fulfil, reject) => {
      const end = (act: () => void): void => {
        clearTimeout(timer);
        watchers.delete(offer);
        act();
      };
      const offer = (line: string): void => {
        const answer = match(line);
        if (answer !== undefined) end(() => fulfil(answer));
      };
      const missing = (why: string): Error =>
        new Error(`${script}: ${why} before it printed ${what}; its last lines:\n${lines.slice(-20).join('\n')}`);
      const timer = setTimeout(() => end(() => reject(missing(`${timeoutMs} ms passed`))), timeoutMs);
      watchers.add(offer);
      void exit.then(({ code, signal }) => end(() => reject(missing(`it ended (${signal ?? code})`))));
    });
  };

  return {
    pid: child.pid,
    lines,
    exit,
    stdout: keepOf(child.stdout),
    stderr: keepOf(child.stderr),
    log: () => lines.map(logLine).filter((line) => line !== undefined),
    printed: (text, timeoutMs = PROGRAM_LOG_WAIT_MS) =>
      found(`"${text}"`, (line) => (line.includes(text) ? line : undefined), timeoutMs),
    logged: (event, timeoutMs = PROGRAM_LOG_WAIT_MS) => found(`the event ${event}`, eventNamed(event), timeoutMs),
    signal: (signal) => void child.kill(signal),
    kill: async (signal) => {
      child.kill(signal);
      await exit;
    },
  };
}

function eventNamed(event: string): (line: string) => LoggedLine | undefined {
  return (line) => {
    const logged = line.includes(event) ? logLine(line) : undefined;
    return logged?.['msg'] === event ? logged : undefined;
  };
}

function logLine(line: string): LoggedLine | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as LoggedLine;
  } catch {
    return undefined; // a program that is killed may leave half a line
  }
}
