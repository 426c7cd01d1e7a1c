/** A pooler for tests: nothing of the stack needs one, so where it is missing and cannot be installed there is none. */
import { findOnPath } from '../commands.ts';
import type { StackConfig } from '../config.ts';
import { aptInstall } from '../debian.ts';
import type { OnProgress } from '../progress.ts';

const NAME = 'pgbouncer';

export async function findPgbouncer(config: StackConfig, onProgress: OnProgress): Promise<string | undefined> {
  const find = () => findOnPath(NAME, `${config.path}:/usr/sbin`);
  const found = find();
  if (found !== undefined) return found;
  return (await aptInstall([NAME], { path: config.path, onProgress })) ? find() : undefined;
}
