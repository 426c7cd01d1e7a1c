/** What a program has opened so far, so that an end, or a start that fails halfway, closes exactly that. */
export interface Closable {
  close(): Promise<void>;
}

export interface Opened {
  /** Notes the part and hands it back. */
  keep<Part extends Closable>(part: Part): Part;
  /** The youngest first; a part that cannot be closed keeps no other from it. */
  closeAll(): Promise<void>;
}

export function createOpened(): Opened {
  const parts: Closable[] = [];
  return {
    keep(part) {
      parts.unshift(part);
      return part;
    },
    async closeAll() {
      await Promise.allSettled(parts.map((part) => part.close()));
    },
  };
}
