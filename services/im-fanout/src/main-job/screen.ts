/** What the reader of `npm start` sees: one line a step, a live line while something runs, plain text everywhere else. */
export interface Screen {
  readonly isInteractive: boolean;
  /** An empty line before, and the text as it is. */
  heading(text: string): void;
  line(text: string): void;
  /** Shows that a step runs, then how it ended and how long it took. */
  step<T>(
    name: string,
    work: (progress: (text: string) => void) => Promise<T>,
    result: (value: T) => string,
  ): Promise<T>;
  /** Replaces the live line; '' takes it away. Does nothing where nobody watches. */
  live(text: string): void;
}

const ERASE_LINE = '\r\u001b[2K';
const NAME_WIDTH = 12;

export function processScreen(): Screen {
  const { stdout } = process;
  const isInteractive = stdout.isTTY && process.env['TERM'] !== 'dumb';
  let hasLive = false;
  const live = (text: string): void => {
    if (!isInteractive) return;
    if (hasLive) stdout.write(ERASE_LINE);
    hasLive = text !== '';
    // A line that wraps could not be erased again.
    if (hasLive) stdout.write(text.slice(0, Math.max(20, stdout.columns - 1)));
  };
  const line = (text: string): void => {
    live('');
    stdout.write(`${text}\n`);
  };
  return {
    isInteractive,
    live,
    line,
    heading(text) {
      line('');
      line(text);
    },
    async step(name, work, result) {
      const label = `  ${name.padEnd(NAME_WIDTH)}`;
      live(`${label}…`);
      const startedAt = performance.now();
      const value = await work((text) => (isInteractive ? live(`${label}${text}`) : line(`${label}${text}`)));
      line(`${label}${result(value)}  (${seconds(performance.now() - startedAt)})`);
      return value;
    },
  };
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
