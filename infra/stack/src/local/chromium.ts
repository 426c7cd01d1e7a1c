/** A browser for tests of pages: one that is there, or Debian's. */
import { findOnPath, isExecutable } from '../commands.ts';
import type { StackConfig } from '../config.ts';
import { aptInstall } from '../debian.ts';
import { StackError } from '../errors.ts';
import type { OnProgress } from '../progress.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome'] as const;

export const CHROMIUM_ARGUMENTS: readonly string[] = [
  '--headless',
  '--no-sandbox', // tests may run as root
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  // A browser under test talks to the page under test and to nobody else.
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The path of its program. Throws StackError with what to do when there is none and none can be installed. */
export async function findChromium(config: StackConfig, onProgress: OnProgress): Promise<string> {
  if (config.chromium !== undefined) {
    if (isExecutable(config.chromium)) return config.chromium;
    throw new StackError(`TIDEMARK_CHROMIUM is "${config.chromium}", which is not a program that can be started.`);
  }
  const found = onPath(config.path);
  if (found !== undefined) return found;
  if (await aptInstall(['chromium', 'fonts-dejavu-core'], { path: config.path, onProgress })) {
    const installed = onPath(config.path);
    if (installed !== undefined) return installed;
  }
  throw new StackError(
    'Chromium is missing, which the tests of the console pages need: install it (Debian: apt-get install chromium), or set TIDEMARK_CHROMIUM to the program of a Chromium or Chrome.',
  );
}

function onPath(path: string): string | undefined {
  for (const name of NAMES) {
    const found = findOnPath(name, path);
    if (found !== undefined) return found;
  }
  return undefined;
}
