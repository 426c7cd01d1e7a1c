/** The migrations: numbered SQL files, applied in order, each once, all in one transaction. */

import { readFileSync } from 'node:fs';
import { checkNamespace } from '@tidemark/keyspace';
import { quoteIdentifier, quoteLiteral } from '../../quoting.ts';
import { channelOf } from './queries.ts';

/** Never edit a file that was released; add one. */
const FILES = [
  '0001-outbox.sql',
  '0002-publish.sql',
  '0003-request-job.sql',
  '0004-capture.sql',
  '0005-attach.sql',
  '0006-retries.sql',
  '0007-bootstrap.sql',
  '0008-exact-capture.sql',
  '0010-vacuum.sql',
] as const;

export const LATEST_VERSION = Math.max(...FILES.map(versionOf));

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

export function migrationsFor(namespace: string): readonly Migration[] {
  const replacements = placeholders(checkNamespace(namespace));
  return FILES.map((name) => {
    const template = readFileSync(new URL(`migrations/${name}`, import.meta.url), 'utf8');
    return { version: versionOf(name), name, sql: fill(template, replacements, name) };
  });
}

/** Its number, not its place: a number may be left out. */
function versionOf(name: string): number {
  return Number.parseInt(name, 10);
}

/** A namespace holds no quote, dollar, percent or backslash, so it is safe in every kind of SQL text, quoted as it is here. */
function placeholders(namespace: string): ReadonlyMap<string, string> {
  return new Map([
    ['schema', quoteIdentifier(namespace)],
    ['namespace', quoteLiteral(namespace)],
    ['channel', quoteLiteral(channelOf(namespace))],
    ['capture_trigger', quoteLiteral(`${namespace}_capture`)],
    ['truncate_trigger', quoteLiteral(`${namespace}_refuse_truncate`)],
  ]);
}

function fill(template: string, replacements: ReadonlyMap<string, string>, file: string): string {
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => {
    const value = replacements.get(name);
    if (value === undefined) throw new Error(`${file} has an unknown placeholder {{${name}}}`);
    return value;
  });
}
