import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fullNameOf, type RecordNode } from './avro-schema.ts';

export const REPOSITORY_FOLDER = resolve(import.meta.dirname, '../../../..');
export const SCHEMAS_FOLDER = join(REPOSITORY_FOLDER, 'schemas');

/** The records of `schemas/` by full name, in the order of the file names. */
export function readSchemaFiles(folder: string = SCHEMAS_FOLDER): ReadonlyMap<string, RecordNode> {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith('.avsc'))
    .sort();
  return parseSchemaFiles(files.map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') })));
}

export function parseSchemaFiles(
  files: readonly { readonly name: string; readonly text: string }[],
): ReadonlyMap<string, RecordNode> {
  const records = new Map<string, RecordNode>();
  for (const file of files) {
    const node = JSON.parse(file.text) as RecordNode;
    if (node.type !== 'record') throw new Error(`${file.name}: a file in schemas/ holds one record`);
    const expected = `${kebabCase(node.name)}.avsc`;
    if (basename(file.name) !== expected)
      throw new Error(`${file.name} holds ${node.name}: it must be called ${expected}`);
    const fullName = fullNameOf(node, '');
    if (records.has(fullName)) throw new Error(`${file.name}: ${fullName} is defined twice`);
    records.set(fullName, node);
  }
  return records;
}

function kebabCase(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])[A-Z]/g, (letter) => `-${letter}`).toLowerCase();
}
