/** `tidemark up | down | status`: the local services and the programs that were started on them. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { redactUrl } from '@tidemark/observability';
import {
  consolePort,
  type ProgramStatus,
  programs,
  type ServiceStatus,
  startProgram,
  up as startServices,
  status,
  stopPrograms,
  down as stopServices,
  WORKER_NODE_ARGUMENTS,
} from '@tidemark/stack';
import type { Command } from 'commander';
import { wholeNumber } from '../arguments.ts';
import { readConfig } from '../config.ts';
import type { Context } from '../context.ts';
import { ExitCode, fail } from '../exit-code.ts';
import { WORKERS_MAX } from '../limits.ts';
import { printRows } from '../output.ts';
import type { Registrar } from '../registrar.ts';
import { scriptOf } from '../repository.ts';

interface UpOptions {
  readonly servicesOnly: boolean;
  readonly workers: number;
  readonly handlers: readonly string[];
}

export function registerStack(program: Command, { command, run }: Registrar): void {
  const up = command(program, 'up', 'start the local services and relay, distributor, console and workers on them')
    .option('--services-only', 'no programs of ours', false)
    .option('--workers <count>', 'worker processes', wholeNumber({ min: 0, max: WORKERS_MAX }), 1)
    .option('--handlers <file...>', 'modules with handlers for the workers', []);
  run(up, async (context, _: [], options: UpOptions) => {
    const { terminal } = context;
    const handlers = options.handlers.map(handlerFile);
    await startServices({ onProgress: (line) => terminal.note(line) });
    if (!options.servicesOnly) await startPrograms(context, { ...options, handlers });
    return printStatus(context);
  });
  run(
    command(program, 'down', 'stop what "tidemark up" and "npm start" started, programs first; the data stays'),
    async ({ terminal }) => {
      for (const name of await stopPrograms()) terminal.note(`stopped ${name}`);
      await stopServices({ onProgress: (line) => terminal.note(line) });
    },
  );
  run(command(program, 'status', 'which services and programs run, and whether they are well'), printStatus);
}

async function startPrograms({ terminal }: Context, options: UpOptions): Promise<void> {
  // Read anew: the addresses are known only now that the services run.
  const env = { ...readConfig(terminal.env).env };
  await startProgram({ name: 'relay', script: scriptOf('relay'), env });
  await startProgram({ name: 'distributor', script: scriptOf('distributor'), env });
  const consoleEnv = { ...env, TIDEMARK_CONSOLE_PORT: String(consolePort()) };
  await startProgram({ name: 'console', script: scriptOf('console'), env: consoleEnv });
  terminal.note(`console at http://127.0.0.1:${consolePort()}/`);
  for (let n = 1; n <= options.workers; n++) {
    await startProgram({
      name: `worker-${n}`,
      script: scriptOf('worker'),
      nodeArguments: WORKER_NODE_ARGUMENTS,
      env: { ...env, TIDEMARK_HANDLERS: options.handlers.join(',') },
    });
  }
}

/** The workers run in the background: a mistake would show in their logs only. */
function handlerFile(file: string): string {
  if (existsSync(file)) return resolve(file);
  return fail(ExitCode.notFound, `handler module ${file}: no such file, looked for from ${process.cwd()}`);
}

async function printStatus({ terminal, format }: Context): Promise<ExitCode> {
  const rows = [...(await status()).map(ofService), ...programs().map(ofProgram)];
  printRows(terminal, format, {
    rows,
    columns: [
      { title: 'NAME', of: ({ name }) => name },
      { title: 'FROM', of: ({ mode }) => mode },
      { title: 'ADDRESS OR LOG', of: ({ where }) => where },
      { title: 'PID', of: ({ pid }) => pid ?? '', align: 'right' },
      { title: 'STATE', of: ({ healthy, fault }) => (healthy ? 'healthy' : `DOWN: ${fault}`) },
    ],
    none: 'nothing runs',
  });
  return rows.every(({ healthy }) => healthy) ? ExitCode.ok : ExitCode.unavailable;
}

interface StatusRow {
  readonly name: string;
  readonly mode: string;
  readonly where: string;
  readonly pid: number | undefined;
  readonly healthy: boolean;
  readonly fault: string | undefined;
}

function ofService({ name, mode, address, pid, healthy, fault }: ServiceStatus): StatusRow {
  return { name, mode, where: redactUrl(address ?? '-'), pid, healthy, fault };
}

function ofProgram({ name, logFile, pid, alive }: ProgramStatus): StatusRow {
  return {
    name,
    mode: 'program',
    where: logFile,
    pid,
    healthy: alive,
    fault: alive ? undefined : 'it has ended, see its log',
  };
}
