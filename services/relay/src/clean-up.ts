/**
 * Removes what is published and not kept for later. A session looks through everything once; from then on only through
 * what came since, and what is kept no longer: the dead rows of a table whose vacuum is held back are never passed again.
 */
import { sleep } from '@tidemark/keyspace';
import { NOTHING_VISIBLE, type OutboxReader, snapshotText } from '@tidemark/outbox';
import type { Progress } from './batches.ts';
import { CLEANUP_BATCHES_MAX, CLEANUP_PAUSE_MS } from './limits.ts';
import { NOTHING_PARKED, releasedParts } from './parked-keys.ts';

export interface CleanUp {
  /** Some batches towards the newest progress. What a failed round has left is done by the next. */
  round(newest: Progress, signal: AbortSignal): Promise<void>;
}

/** Valid for one session: after a crash of the database rows may stand there again that were removed before. */
export function createCleanUp(reader: Pick<OutboxReader, 'cleanup' | 'removePublished'>): CleanUp {
  let done: Progress | undefined;
  /** A window is finished before the next is begun; keys that were parked since have nothing in it. */
  let begun: { readonly upTo: Progress; readonly goOnAt: bigint | undefined } | undefined;

  async function batch({ upTo, goOnAt }: NonNullable<typeof begun>): Promise<bigint | undefined> {
    const window = { after: done?.position.snapshot ?? NOTHING_VISIBLE, upTo: upTo.position.snapshot };
    if (snapshotText(window.after) === snapshotText(window.upTo)) return undefined;
    // Of one position, both: what it keeps for later is visible in its snapshot, too.
    return (await reader.cleanup(window, [...upTo.parked.values()], goOnAt)).goOnAt;
  }

  return {
    async round(newest, signal) {
      for (let batches = 0; batches < CLEANUP_BATCHES_MAX && !signal.aborted; batches += 1) {
        if (begun === undefined) {
          if (newest === done) return;
          begun = { upTo: newest, goOnAt: undefined };
        }
        const { upTo } = begun;
        const goOnAt = await batch(begun);
        begun = { upTo, goOnAt };
        if (goOnAt === undefined) {
          const released = releasedParts(done?.parked ?? NOTHING_PARKED, upTo.parked);
          if (released.length > 0) await reader.removePublished(upTo.position.snapshot, released);
          begun = undefined;
          done = upTo;
        } else {
          await sleep(CLEANUP_PAUSE_MS, signal);
        }
      }
    },
  };
}
