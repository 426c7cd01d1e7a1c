/** The folder of the peers is only read; it is copied into the user's cache and built there once. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { modulesOf } from './peer-names.ts';
import type { Progress } from './topic.ts';

export interface BuildOptions {
  readonly folder: string;
  readonly cacheFolder: string;
  readonly names: readonly string[];
  readonly inherited: NodeJS.ProcessEnv;
  readonly progress: Progress;
}

/** Returns the folder with the harness's `run`. */
export async function buildPeers({ folder, cacheFolder, names, inherited, progress }: BuildOptions): Promise<string> {
  if (!existsSync(join(folder, 'run')))
    throw peersFault('NO_PEERS', `no peers in ${folder}: name their folder with --peers-dir or TIDEMARK_PEERS`);
  const copy = join(cacheFolder, 'peers', copyName(folder));
  if (!existsSync(join(copy, 'run'))) {
    mkdirSync(copy, { recursive: true });
    cpSync(folder, copy, { recursive: true });
    // What was read-only there must be buildable here.
    await runCommand('chmod', ['-R', 'u+w', copy], { cwd: copy, env: inherited, onLine: progress });
  }
  const modules = modulesOf(names);
  const stamp = join(copy, `.built-${modules.join('-')}`);
  if (existsSync(stamp)) return copy;
  progress(`building peers: ${modules.join(', ')}`);
  await runCommand('mvn', ['-B', '-q', '-pl', modules.join(','), '-am', 'package'], {
    cwd: copy,
    env: inherited,
    onLine: progress,
  });
  writeFileSync(stamp, '');
  return copy;
}

/** Another folder, or another state of it, gets another copy. */
function copyName(folder: string): string {
  const changed = ['run', 'pom.xml'].map((file) => statSync(join(folder, file)).mtimeMs);
  return createHash('sha256')
    .update([folder, ...changed].join('\n'))
    .digest('hex')
    .slice(0, 12);
}

interface CommandOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Gets every line of stdout, as it comes. */
  readonly onLine: Progress;
}

/** The lines of stdout; stderr goes to ours. */
export async function runCommand(
  command: string,
  args: readonly string[],
  { cwd, env, onLine }: CommandOptions,
): Promise<readonly string[]> {
  const child = spawn(command, [...args], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  let shown = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    for (let end = output.indexOf('\n', shown); end >= 0; end = output.indexOf('\n', shown)) {
      onLine(output.slice(shown, end));
      shown = end + 1;
    }
  });
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  );
  if (code !== 0) throw peersFault('PEERS_FAILED', `${command} ${args.join(' ')} failed with exit code ${code}`);
  return output.split('\n');
}

export function peersFault(code: string, message: string): TidemarkError {
  return new TidemarkError({ code, class: ErrorClass.config, message });
}
