/** Ids in the names of tests are explained in infra/cases.md, and nothing is explained that no test retells. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');

/** A name that begins with `A9:`, `E6 (b):` or `G1, P9:`, of `it`, `it.each` or a loop of contract tests. */
const IDS = /['"`]((?:[A-Z]\d{1,2}(?: \([a-z]\))?(?:, )?)+): /g;

it('every id in a name has its line, and every line its test', () => {
  const files = globSync('{libs,services,infra}/**/*.{test,contract}.ts', {
    cwd: ROOT,
    exclude: ['**/node_modules/**'],
  })
    .concat(globSync('{libs,services}/*/src/testing/*-scenarios.ts', { cwd: ROOT }))
    .map((file) => readFileSync(join(ROOT, file), 'utf8'));
  const used = files.flatMap(
    (text) => [...text.matchAll(IDS)].flatMap(([, ids = '']) => ids.match(/[A-OQ-Z]\d{1,2}/g) ?? []), // P are promises
  );
  const told = readFileSync(join(ROOT, 'infra/cases.md'), 'utf8').matchAll(/^\| ([A-Z]\d{1,2}) \|/gm);
  expect(new Set([...told].map(([, id]) => id))).toEqual(new Set(used));
});
