import { CHROMIUM_ARGUMENTS, findChromium, readConfig } from '@tidemark/stack';

export interface Browser {
  readonly executablePath: string;
  readonly args: readonly string[];
}

/**
 * What `playwright-core` needs to launch a browser. It is looked for on the PATH (or at TIDEMARK_CHROMIUM), installed where
 * the test runs as root on Debian, and otherwise asked for in a clear message.
 */
export async function chromium(): Promise<Browser> {
  const executablePath = await findChromium(readConfig(), (line) => process.stderr.write(`${line}\n`));
  return { executablePath, args: CHROMIUM_ARGUMENTS };
}
