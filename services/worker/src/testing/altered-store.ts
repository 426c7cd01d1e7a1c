import type { CursorStore } from '@tidemark/cursors';

/** The store with some of its operations replaced. */
export function altered(store: CursorStore, changes: Partial<CursorStore>): CursorStore {
  return { ...store, ...changes };
}
