/** What a test does to whole servers: a replica beside a private one, and copies by Postgres' own programs. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { freePorts, type PrivatePostgres, postgresProgram } from '@tidemark/testkit';
import { onTestFinished } from 'vitest';

/** Runs a program of Postgres as the user that the server runs as, and returns what it printed. */
export async function runPostgresProgram(program: string, args: readonly string[], folder: string): Promise<string> {
  const command = await postgresProgram(program);
  const [file, all] =
    process.getuid?.() === 0 ? ['runuser', ['-u', 'postgres', '--', command, ...args]] : [command, [...args]];
  const { stdout } = await promisify(execFile)(file, all, {
    cwd: folder,
    env: { LC_ALL: 'C', PATH: process.env['PATH'] ?? '' },
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout;
}

/** A streaming replica beside the primary's data; ended with the test. */
export async function startStandby(primary: PrivatePostgres): Promise<string> {
  const url = new URL(primary.address);
  const folder = join(primary.folder, 'server');
  const data = join(folder, 'standby');
  const run = (program: string, args: readonly string[]) => runPostgresProgram(program, args, folder);
  await run('pg_basebackup', ['-h', url.hostname, '-p', url.port, '-U', 'tidemark', '-D', data, '-R', '-c', 'fast']);
  const [port] = await freePorts(1);
  const settings = `-c port=${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=200 -c max_prepared_transactions=20 -c wal_level=logical`;
  const log = join(folder, 'standby.log');
  await run('pg_ctl', ['start', '--silent', '-w', '-t', '180', '-D', data, '-l', log, '-o', settings]);
  onTestFinished(async () => void (await run('pg_ctl', ['stop', '--silent', '-D', data, '-m', 'immediate'])));
  url.port = String(port);
  return url.toString();
}
