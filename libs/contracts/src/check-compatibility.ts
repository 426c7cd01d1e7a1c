/**
 * Compares `schemas/` with a commit, so that versions N and N+1 of the programs can run side by side: records of either
 * must be readable with the other's schema.
 *
 *   node libs/contracts/src/check-compatibility.ts                    with the last commit
 *   node libs/contracts/src/check-compatibility.ts --against v0.1.0   with another one
 *
 * Without a history (an unpacked archive) there is nothing to compare with, which it says.
 */
import { execFileSync } from 'node:child_process';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { schemaChanges } from './generation/schema-changes.ts';
import { parseSchemaFiles, REPOSITORY_FOLDER, readSchemaFiles } from './generation/schema-files.ts';

const { values } = parseArgs({ options: { against: { type: 'string', default: 'HEAD' } } });
const committed = committedFiles(values.against);
if (committed === undefined) {
  process.stdout.write(`no history here to compare schemas/ with (${values.against})\n`);
} else {
  const faults = schemaChanges(parseSchemaFiles(committed), readSchemaFiles());
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
  else process.stdout.write(`${committed.length} schemas are compatible with ${values.against}\n`);
}

/** Undefined where git, the commit or the folder in it is missing. */
function committedFiles(commit: string): readonly { readonly name: string; readonly text: string }[] | undefined {
  try {
    const paths = git('ls-tree', '--name-only', commit, 'schemas/').split('\n');
    const schemas = paths.filter((path) => path.endsWith('.avsc'));
    return schemas.length === 0 ? undefined : schemas.map((name) => ({ name, text: git('show', `${commit}:${name}`) }));
  } catch {
    return undefined;
  }
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: REPOSITORY_FOLDER, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}
