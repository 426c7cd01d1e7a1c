/** Postgres with logical WAL in a folder of its own. It refuses to run as root, so root hands it to the user `postgres`. */
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CommandResult, findOnPath, isExecutable, run } from '../commands.ts';
import type { StackConfig } from '../config.ts';
import { aptInstall } from '../debian.ts';
import { StackError } from '../errors.ts';
import { START_TIMEOUT_MS } from '../limits.ts';
import { identify, type ProcessIdentity, tailOf } from '../processes.ts';
import type { OnProgress } from '../progress.ts';
import type { LocalService } from './service.ts';

const SYSTEM_USER = 'postgres';

export interface PostgresOptions {
  /** Parent of the data folder; root makes it the property of the user `postgres`. */
  folder: string;
  logFile: string;
  port: number;
  /** Folder of initdb, postgres and pg_ctl. */
  bin: string;
  /** Further settings, e.g. `{ max_connections: '20' }`. */
  settings?: Readonly<Record<string, string>>;
}

export const SERVER_SETTINGS: Readonly<Record<string, string>> = {
  wal_level: 'logical',
  fsync: 'on',
  max_connections: '200',
  max_prepared_transactions: '20',
};

export async function findPostgres(config: StackConfig, onProgress: OnProgress): Promise<string> {
  let bin = installedPostgres(config);
  if (!bin && (await aptInstall(['postgresql'], { path: config.path, onProgress }))) bin = installedPostgres(config);
  if (!bin) {
    throw new StackError(
      'Postgres is missing: initdb and pg_ctl are neither on the PATH nor under /usr/lib/postgresql. Install it (Debian: apt-get install postgresql), start Docker, or set TIDEMARK_POSTGRES.',
    );
  }
  if (isRoot() && (await run('id', ['-u', SYSTEM_USER])).code !== 0) {
    throw new StackError(
      'Postgres refuses to run as root and there is no system user "postgres"; create one, or run as an ordinary user.',
    );
  }
  return bin;
}

function installedPostgres(config: StackConfig): string | undefined {
  const onPath = findOnPath('initdb', config.path);
  if (onPath) return dirname(realpathSync(onPath)); // a link of one program stands for the folder of all
  const versions = existsSync(config.postgresFolder) ? readdirSync(config.postgresFolder) : [];
  return versions
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(config.postgresFolder, version, 'bin'))
    .find((bin) => isExecutable(join(bin, 'initdb')));
}

/** Can the user that Postgres runs as reach this folder? */
export async function postgresCanReach(folder: string): Promise<boolean> {
  if (!isRoot()) return true;
  return (await run('runuser', ['-u', SYSTEM_USER, '--', 'test', '-x', folder])).code === 0;
}

export function postgresService(options: PostgresOptions): LocalService {
  const data = join(options.folder, 'data');
  return {
    name: 'postgres',
    address: `postgres://tidemark:tidemark@127.0.0.1:${options.port}/tidemark`,
    ports: [options.port],
    logFile: options.logFile,
    async start() {
      await prepareFolder(options.folder);
      await initializeOnce(options, data);
      return startServer(options, data);
    },
    async settle() {},
  };
}

async function startServer(options: PostgresOptions, data: string): Promise<ProcessIdentity> {
  const settings = {
    ...SERVER_SETTINGS,
    listen_addresses: '127.0.0.1',
    port: String(options.port),
    unix_socket_directories: '', // everything goes through the port; socket paths have a length limit
    ...options.settings,
  };
  const flags = Object.entries(settings).map(([name, value]) => `-c ${name}='${value}'`);
  const log = join(options.folder, 'server.log');
  // It waits until the server serves, and ends at once when the server does.
  const timeout = `--timeout=${START_TIMEOUT_MS / 1000}`;
  const args = ['start', '--wait', timeout, '--silent', '-D', data, '-l', log, '-o', flags.join(' ')];
  const result = await asPostgres(options, 'pg_ctl', args);
  if (result.code !== 0)
    throw new StackError(`Postgres did not start: ${result.stderr.trim()}\n${tailOf(log)}\nIts log: ${log}`);
  const pid = Number(readLines(join(data, 'postmaster.pid'))[0]);
  return identify(pid) ?? { pid, startedAt: 'ended' };
}

async function initializeOnce(options: PostgresOptions, data: string): Promise<void> {
  if (existsSync(join(data, 'PG_VERSION'))) return;
  const fresh = `${data}.new`;
  rmSync(fresh, { recursive: true, force: true });
  const initialize = ['-D', fresh, '-U', 'tidemark', '--auth=trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  requireSuccess(await asPostgres(options, 'initdb', initialize), 'initdb');
  // Single-user mode needs neither port nor socket; the folder gets its name when the database is in it.
  const create = ['--single', '-D', fresh, 'postgres'];
  requireSuccess(await asPostgres(options, 'postgres', create, 'create database tidemark;\n'), 'create database');
  requireSuccess(await run('mv', [fresh, data]), 'mv');
}

function requireSuccess(result: CommandResult, what: string): void {
  if (result.code !== 0) throw new StackError(`Postgres: ${what} failed: ${(result.stderr || result.stdout).trim()}`);
}

async function prepareFolder(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  if (!isRoot()) return;
  chmodSync(folder, 0o755);
  const owner = Number((await run('id', ['-u', SYSTEM_USER])).stdout);
  if (statSync(folder).uid !== owner) requireSuccess(await run('chown', [SYSTEM_USER, folder]), 'chown');
}

function asPostgres(options: PostgresOptions, program: string, args: string[], input?: string): Promise<CommandResult> {
  const command = join(options.bin, program);
  const env = { LC_ALL: 'C', PGDATA: '' };
  const common = { cwd: options.folder, env, ...(input === undefined ? {} : { input }) };
  return isRoot() ? run('runuser', ['-u', SYSTEM_USER, '--', command, ...args], common) : run(command, args, common);
}

function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return [];
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
