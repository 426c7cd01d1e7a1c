/** One launcher at a time per checkout. The lock is a file with the holder's pid and start time; a dead holder's lock is taken over. */
import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StackError } from './errors.ts';
import { LOCK_TIMEOUT_MS } from './limits.ts';
import { identify, isAlive, type ProcessIdentity, readJson } from './processes.ts';
import type { OnProgress } from './progress.ts';

const LOCK_POLL_MS = 200;

export async function withLock<T>(folder: string, onProgress: OnProgress, work: () => Promise<T>): Promise<T> {
  const file = join(folder, 'lock');
  mkdirSync(folder, { recursive: true });
  await acquire(file, onProgress);
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

async function acquire(file: string, onProgress: OnProgress): Promise<void> {
  const deadline = performance.now() + LOCK_TIMEOUT_MS;
  let told = false;
  while (!tryCreate(file)) {
    const holder = readJson(file);
    if (!isIdentity(holder) || !isAlive(holder)) {
      breakLock(file, holder);
      continue;
    }
    if (!told) onProgress(`another launcher (pid ${holder.pid}) is at work; waiting for it`);
    told = true;
    if (performance.now() > deadline) throw new StackError(`Another launcher (pid ${holder.pid}) still holds ${file}.`);
    await delay(LOCK_POLL_MS);
  }
}

/** The file appears with its content in one step (a link), so nobody reads a lock without a holder. */
function tryCreate(file: string): boolean {
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, JSON.stringify(identify(process.pid)));
  try {
    linkSync(mine, file);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(mine, { force: true });
  }
}

/**
 * Two waiters may see the same dead holder. A takes the file away by renaming it, creates its own lock; then B, late,
 * renames A's lock away. So the renamed file is looked at: if it is not the dead one, it is linked back.
 */
function breakLock(file: string, seen: unknown): void {
  const aside = `${file}.dead.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch {
    return; // somebody else was quicker
  }
  if (JSON.stringify(readJson(aside)) !== JSON.stringify(seen)) {
    try {
      linkSync(aside, file);
    } catch {
      // A third launcher holds it by now; its holder and A's are both told apart by their own files.
    }
  }
  rmSync(aside, { force: true });
}

function isIdentity(value: unknown): value is ProcessIdentity {
  return typeof value === 'object' && value !== null && 'pid' in value && 'startedAt' in value;
}
