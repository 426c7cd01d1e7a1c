/** Relay, distributor, two workers and the console, in the background: they stay when the run is over, until `tidemark down`. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Environment } from '@tidemark/observability';
import {
  consolePort,
  type ProgramStatus,
  programs,
  startProgram,
  stopPrograms,
  WORKER_NODE_ARGUMENTS,
} from '@tidemark/stack';

/** A program that does not start at all ends within this time. */
const FIRST_BREATH_MS = 400;
const LOG_LINES = 5;

const HANDLERS = new URL('../handlers.ts', import.meta.url).pathname;

export async function startPrograms(env: Environment): Promise<readonly ProgramStatus[]> {
  // Those of an earlier run or of `tidemark up`: they may be of another version, or have other handlers.
  await stopPrograms();
  const started = [
    await startRelay(env),
    await startProgram({ name: 'distributor', script: 'services/distributor/src/main.ts', env }),
    await startWorker('worker-1', env),
    await startWorker('worker-2', env),
    await startProgram({
      name: 'console',
      script: 'services/console/src/main.ts',
      env: { ...env, TIDEMARK_CONSOLE_PORT: String(consolePort()) },
    }),
  ];
  await delay(FIRST_BREATH_MS);
  assertProgramsAlive();
  return started;
}

export function startRelay(env: Environment): Promise<ProgramStatus> {
  return startProgram({ name: 'relay', script: 'services/relay/src/main.ts', env });
}

export function startWorker(name: string, env: Environment): Promise<ProgramStatus> {
  return startProgram({
    name,
    script: 'services/worker/src/main.ts',
    nodeArguments: WORKER_NODE_ARGUMENTS,
    env: { ...env, TIDEMARK_HANDLERS: HANDLERS },
  });
}

/** Without warning, as a crash does. */
export function killProgram(name: string): void {
  const pid = programs().find((program) => program.name === name)?.pid;
  if (pid === undefined) throw new Error(`${name} was not started here`);
  process.kill(pid, 'SIGKILL');
}

/** Throws with the end of its log when one of them has ended. */
export function assertProgramsAlive(): void {
  const ended = programs().find(({ alive }) => !alive);
  if (ended === undefined) return;
  throw new Error(`${ended.name} has ended; the end of ${ended.logFile}:\n${lastLines(ended.logFile)}`);
}

function lastLines(file: string): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-LOG_LINES).join('\n');
  } catch {
    return '(no log)';
  }
}
