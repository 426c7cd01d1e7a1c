/** Our own programs (relay, distributor, workers) beside the services: started in the background, found again by the next call, stopped before the services are. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig, type StackConfig } from './config.ts';
import {
  isAlive,
  type ProcessIdentity,
  readJson,
  removeFile,
  startDetached,
  stopProcess,
  writeJson,
} from './processes.ts';

/** For workers: V8's default lets the young generation grow to 100 MB of records that were dead long ago (infra/bench). */
export const WORKER_NODE_ARGUMENTS = ['--max-semi-space-size=16'] as const;

export interface ProgramOptions {
  /** Names the process, its record and its log: `worker-1`. */
  name: string;
  /** Path of the script inside the checkout. */
  script: string;
  args?: readonly string[];
  /** Of Node itself. */
  nodeArguments?: readonly string[];
  /** Settings beside the environment of the caller. */
  env?: NodeJS.ProcessEnv;
}

export interface ProgramStatus {
  name: string;
  pid: number;
  alive: boolean;
  logFile: string;
}

/** Whose programs: those of a checkout. */
type Home = Pick<StackConfig, 'root' | 'folder'>;

type ProgramRecord = { process: ProcessIdentity; logFile: string };

/** A program of that name that runs already is stopped first: it may be of another version, or have other settings. */
export async function startProgram(options: ProgramOptions, config: Home = readConfig()): Promise<ProgramStatus> {
  const { root, folder } = config;
  await stopProgram(options.name, config);
  const logFile = join(folder, 'logs', `${options.name}.log`);
  const process_ = await startDetached({
    command: process.execPath,
    args: [...(options.nodeArguments ?? []), join(root, options.script), ...(options.args ?? [])],
    logFile,
    cwd: root,
    // Types are stripped and modules compiled once: programs start in about two thirds of the time.
    env: { NODE_COMPILE_CACHE: join(folder, 'compile-cache'), ...options.env },
  });
  writeJson(fileOf(options.name, config), { process: process_, logFile } satisfies ProgramRecord);
  return { name: options.name, pid: process_.pid, alive: isAlive(process_), logFile };
}

export function programs(config: Home = readConfig()): ProgramStatus[] {
  return namesOfRecords(config).flatMap((name) => {
    const record = recordOf(name, config);
    return record === undefined
      ? []
      : [{ name, pid: record.process.pid, alive: isAlive(record.process), logFile: record.logFile }];
  });
}

/** Sends SIGTERM to all at once, waits for them, and returns the names of those that were running. */
export async function stopPrograms(config: Home = readConfig()): Promise<string[]> {
  const names = namesOfRecords(config);
  const stopped = await Promise.all(names.map(async (name) => ((await stopProgram(name, config)) ? [name] : [])));
  return stopped.flat();
}

async function stopProgram(name: string, config: Home): Promise<boolean> {
  const record = recordOf(name, config);
  const wasAlive = record !== undefined && isAlive(record.process);
  if (record !== undefined) await stopProcess(record.process);
  removeFile(fileOf(name, config));
  return wasAlive;
}

function folderOf({ folder }: Home): string {
  return join(folder, 'run/programs');
}

function fileOf(name: string, config: Home): string {
  return join(folderOf(config), `${name}.json`);
}

function namesOfRecords(config: Home): string[] {
  try {
    return readdirSync(folderOf(config))
      .filter((file) => file.endsWith('.json'))
      .map((file) => file.slice(0, -'.json'.length))
      .sort();
  } catch {
    return [];
  }
}

function recordOf(name: string, config: Home): ProgramRecord | undefined {
  const record = readJson(fileOf(name, config));
  const isRecord = typeof record === 'object' && record !== null && 'process' in record && 'logFile' in record;
  return isRecord ? (record as ProgramRecord) : undefined;
}
