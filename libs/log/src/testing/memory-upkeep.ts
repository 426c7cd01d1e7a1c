/** What a broker knows beside the logs: where groups go on, and its disks. */
import { type Offset, toOffset } from '@tidemark/keyspace';
import type { LogDisk } from '../ports.ts';

export class MemoryUpkeep {
  readonly #committed = new Map<string, Offset>();
  /** What `disks` answers. */
  disks: readonly LogDisk[] = [];

  commit(group: string, place: { readonly topicId: string; readonly partition: number }, offset: bigint): void {
    this.#committed.set(keyOf(group, place), toOffset(offset));
  }

  committed(group: string, place: { readonly topicId: string; readonly partition: number }): Offset | undefined {
    return this.#committed.get(keyOf(group, place));
  }
}

/** Deleting a topic takes what was committed on it along. */
function keyOf(group: string, place: { readonly topicId: string; readonly partition: number }): string {
  return `${place.topicId}/${place.partition}/${group}`;
}
