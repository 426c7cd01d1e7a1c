/** Where the programs are that the command line starts. They are started as programs and not imported: each has its own life. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import type { Environment } from '@tidemark/observability';
import { WORKER_NODE_ARGUMENTS } from '@tidemark/stack';

export const REPOSITORY_FOLDER = resolve(import.meta.dirname, '../../..');

export type ProgramName = 'relay' | 'distributor' | 'worker' | 'console' | 'retention-guard';

export function scriptOf(program: ProgramName): string {
  return `services/${program}/src/main.ts`;
}

/** Runs a program in the foreground until it ends or the signal tells it to stop; resolves to its exit code. */
export function runInForeground(program: ProgramName, env: Environment, signal: AbortSignal): Promise<number> {
  return new Promise((done, failed) => {
    const nodeArguments = program === 'worker' ? WORKER_NODE_ARGUMENTS : [];
    const child = spawn(process.execPath, [...nodeArguments, resolve(REPOSITORY_FOLDER, scriptOf(program))], {
      env: { ...process.env, ...env },
      stdio: 'inherit',
    });
    const stop = (): void => {
      // Ctrl-C in a terminal reaches the child by itself, and a second signal would mean "at once".
      if (signal.reason === 'SIGINT' && process.stdin.isTTY) return;
      child.kill('SIGTERM');
    };
    signal.addEventListener('abort', stop, { once: true });
    child.once('error', failed);
    child.once('exit', (code, byWhat) => {
      signal.removeEventListener('abort', stop);
      done(code ?? 128 + (byWhat === null ? 0 : constants.signals[byWhat]));
    });
  });
}
