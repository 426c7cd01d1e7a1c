/** A PgBouncer before the tests' Postgres, of which one test is the owner. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPgbouncer, readConfig } from '@tidemark/stack';
import { endsWithProcess } from './ends-with-process.ts';
import { freePorts } from './free-ports.ts';
import { waitFor } from './wait-for.ts';

export interface PrivatePgbouncer {
  readonly address: string;
  stop(): Promise<void>;
}

/** Undefined where it is not installed and cannot be. `postgres` is a URL; further settings overrule ours. */
export async function privatePgbouncer(options: {
  readonly postgres: string;
  readonly settings?: Readonly<Record<string, string>>;
}): Promise<PrivatePgbouncer | undefined> {
  const command = await findPgbouncer(readConfig(), () => {});
  if (command === undefined) return undefined;
  const [port] = await freePorts(1);
  const server = new URL(options.postgres);
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-pgbouncer-'));
  chmodSync(folder, 0o755); // it runs as another user
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(file, configOf(server, { listen_port: String(port), ...options.settings }));
  const args = process.getuid?.() === 0 ? ['-u', 'nobody', file] : [file];
  const child = spawn(command, args, { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const hasEnded = endsWithProcess(() => child.kill('SIGKILL'));
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
    hasEnded();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await waitFor('a PgBouncer that answers', () => answers(port));
  } catch (error) {
    await stop();
    throw error;
  }
  server.port = String(port);
  return { address: server.toString(), stop };
}

function configOf(server: URL, settings: Readonly<Record<string, string>>): string {
  const all = {
    listen_addr: '127.0.0.1',
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    ...settings,
  };
  const database = `* = host=${server.hostname} port=${server.port} user=${server.username}`;
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`);
  return `[databases]\n${database}\n[pgbouncer]\n${lines.join('\n')}\n`;
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } finally {
    socket.destroy();
  }
}
