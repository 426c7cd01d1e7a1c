/** Missing programs: installed where that is ours to do (root on Debian), else named. */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { findOnPath, run } from './commands.ts';
import type { OnProgress } from './progress.ts';

const POLICY_FILE = '/usr/sbin/policy-rc.d';

/** Tries to install Debian packages; resolves to false when it could not. */
export async function aptInstall(
  packages: readonly string[],
  { path, onProgress }: { path: string; onProgress: OnProgress },
): Promise<boolean> {
  const isOurs = process.getuid?.() === 0 && existsSync('/etc/debian_version') && findOnPath('apt-get', path);
  if (!isOurs) return false;
  onProgress(`installing ${packages.join(', ')} with apt-get`);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['update', '-qq'], { env });
  // Debian starts a service when its package is installed; a policy file that answers 101 forbids it. Ours is the only server we start.
  const policyIsOurs = !existsSync(POLICY_FILE);
  if (policyIsOurs) writeFileSync(POLICY_FILE, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    const result = await run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages], { env });
    return result.code === 0;
  } finally {
    if (policyIsOurs) rmSync(POLICY_FILE, { force: true });
  }
}
