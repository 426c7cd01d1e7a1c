/**
 * Writes `src/generated/records.ts` from `schemas/`.
 *
 *   node libs/contracts/src/generate.ts           writes
 *   node libs/contracts/src/generate.ts --check   exits 1 when the file is not what it would write
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { readSchemaFiles } from './generation/schema-files.ts';
import { renderRecords } from './generation/typescript.ts';

const FILE = join(import.meta.dirname, 'generated/records.ts');

const wanted = renderRecords(readSchemaFiles());
const present = existsSync(FILE) ? readFileSync(FILE, 'utf8') : '';
if (process.argv.includes('--check')) {
  if (present !== wanted) {
    process.stderr.write(
      'libs/contracts/src/generated/records.ts is not what schemas/ say: run node libs/contracts/src/generate.ts\n',
    );
    process.exitCode = 1;
  }
} else if (present !== wanted) {
  mkdirSync(dirname(FILE), { recursive: true });
  writeFileSync(FILE, wanted);
}
