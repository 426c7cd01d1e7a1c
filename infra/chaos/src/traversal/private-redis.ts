/** A Redis of the run's own that can lose everything, or come back as it was some seconds ago. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { privateRedis } from '@tidemark/testkit';
import { COPIES_KEPT, COPY_AGE_MIN_MS, COPY_EVERY_MS } from './limits.ts';

export interface ChaosRedis {
  readonly url: string;
  /** Killed and back with all of it. */
  restart(): Promise<void>;
  /** Killed and back with nothing in it. */
  restartEmpty(): Promise<void>;
  /** Killed and back as it was `ageMs` ago, which is what it resolves to. */
  restartOlder(): Promise<number>;
  stop(): Promise<void>;
}

interface Copy {
  readonly folder: string;
  readonly atMs: number;
}

export async function openChaosRedis(): Promise<ChaosRedis> {
  const service = await privateRedis();
  const appendOnly = join(service.folder, 'data', 'appendonlydir');
  const copiesFolder = mkdtempSync(join(tmpdir(), 'tidemark-chaos-copies-'));
  const copies: Copy[] = [];
  let copied = 0;
  let isDown = false;

  // A file that is appended to may be copied at any moment: Redis reads it up to the last whole command.
  const copyNow = (): void => {
    if (isDown) return;
    const folder = join(copiesFolder, String(copied++));
    const atMs = performance.now();
    cpSync(appendOnly, folder, { recursive: true });
    copies.push({ folder, atMs });
    for (const gone of copies.splice(0, copies.length - COPIES_KEPT)) rmSync(gone.folder, { recursive: true });
  };
  const timer = setInterval(copyNow, COPY_EVERY_MS);

  const restartAfter = async (change: () => void): Promise<void> => {
    isDown = true;
    await service.kill();
    change();
    await service.start();
    isDown = false;
  };
  const remove = (): void => rmSync(appendOnly, { recursive: true, force: true });

  return {
    url: service.address,
    restart: () => restartAfter(() => {}),
    restartEmpty: () => restartAfter(remove),
    async restartOlder() {
      const copy = copies.findLast(({ atMs }) => performance.now() - atMs >= COPY_AGE_MIN_MS) ?? copies[0];
      if (copy === undefined) throw new Error('no copy of Redis was made yet');
      const ageMs = performance.now() - copy.atMs;
      await restartAfter(() => {
        remove();
        cpSync(copy.folder, appendOnly, { recursive: true });
      });
      return ageMs;
    },
    async stop() {
      clearInterval(timer);
      await service.stop();
      rmSync(copiesFolder, { recursive: true, force: true });
    },
  };
}
