/** What a run has opened is closed in reverse, also when something that comes later cannot be opened. */

export type OnClose = (end: () => Promise<unknown>) => void;

export interface Opened<T> {
  readonly scene: T;
  close(): Promise<void>;
}

export async function openInOrder<T>(
  open: (onClose: OnClose) => Promise<T>,
  progress: (line: string) => void,
): Promise<Opened<T>> {
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const end of closers.splice(0).toReversed())
      await end().catch((error: unknown) => progress(`closing: ${String(error)}`));
  };
  try {
    return { scene: await open((end) => void closers.push(end)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens one thing whose end is known. */
export async function keep<T>(onClose: OnClose, opening: Promise<T>, end: (opened: T) => Promise<unknown>): Promise<T> {
  const opened = await opening;
  onClose(() => end(opened));
  return opened;
}
