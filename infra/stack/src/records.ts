/** What the launcher writes down of each service that it started, so that the next call finds it: one file a service under `.stack/run`. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ServiceName, StackConfig } from './config.ts';
import { isAlive, type ProcessIdentity, readJson, removeFile, writeJson } from './processes.ts';

export type ServiceRecord =
  | { mode: 'local'; address: string; portBase: number; process: ProcessIdentity }
  | { mode: 'docker'; address: string; portBase: number };

export type Records = Partial<Record<ServiceName, ServiceRecord>>;

export function writeRecord(config: StackConfig, service: ServiceName, record: ServiceRecord): void {
  writeJson(fileOf(config, service), record);
}

export function removeRecord(config: StackConfig, service: ServiceName): void {
  removeFile(fileOf(config, service));
}

/** Records of processes that are gone are left in: the caller decides what to do about them. */
export function readRecords(config: StackConfig): Records {
  const records: Records = {};
  for (const name of listFolder(join(config.folder, 'run'))) {
    const match = /^(kafka|redis|postgres|registry)\.json$/.exec(name);
    if (!match) continue;
    const record = readJson(join(config.folder, 'run', name));
    if (isRecord(record)) records[match[1] as ServiceName] = record;
  }
  return records;
}

export function isRunning(record: ServiceRecord | undefined): boolean {
  if (record === undefined) return false;
  return record.mode === 'docker' || isAlive(record.process);
}

function fileOf(config: StackConfig, service: ServiceName): string {
  return join(config.folder, 'run', `${service}.json`);
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function isRecord(value: unknown): value is ServiceRecord {
  if (typeof value !== 'object' || value === null || !('mode' in value) || !('address' in value)) return false;
  return value.mode === 'docker' || (value.mode === 'local' && 'process' in value);
}
