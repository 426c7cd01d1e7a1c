/** Where a command reads and writes: a process, or a test. */
import { createInterface } from 'node:readline/promises';
import type { Environment } from '@tidemark/observability';

export interface Terminal {
  readonly env: Environment;
  /** Somebody watches: a live line and questions make sense. */
  readonly isInteractive: boolean;
  /** Writes a line of the answer. */
  out(line: string): void;
  /** Writes a line about the work: progress, hints, faults. */
  note(line: string): void;
  /** Replaces the line that shows what is going on; '' takes it away. Only when interactive. */
  live(line: string): void;
  /** Only when interactive. */
  confirm(question: string): Promise<boolean>;
  /** Aborted when the user wants to stop; the reason is the name of the signal. */
  readonly signal: AbortSignal;
}

const ERASE_LINE = '\r\u001b[2K';

export function processTerminal(): Terminal & { close(): void } {
  const stopping = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    // The second one ends the process at once, as everywhere.
    if (stopping.signal.aborted) process.exit(130);
    stopping.abort(name);
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  // `tidemark job list | head` closes our output early; that is no fault.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  const isInteractive = process.stdout.isTTY && process.stderr.isTTY && process.env['TERM'] !== 'dumb';
  let hasLiveLine = false;
  const eraseLive = (): void => {
    if (hasLiveLine) process.stderr.write(ERASE_LINE);
    hasLiveLine = false;
  };
  return {
    env: process.env,
    isInteractive,
    signal: stopping.signal,
    out(line) {
      eraseLive();
      process.stdout.write(`${line}\n`);
    },
    note(line) {
      eraseLive();
      process.stderr.write(`${line}\n`);
    },
    live(line) {
      if (!isInteractive) return;
      eraseLive();
      if (line === '') return;
      // A line that wraps could not be erased again.
      process.stderr.write(line.slice(0, Math.max(10, process.stderr.columns - 1)));
      hasLiveLine = true;
    },
    async confirm(question) {
      const prompt = createInterface({ input: process.stdin, output: process.stderr });
      try {
        return /^y(es)?$/i.test((await prompt.question(`${question} [y/N] `, { signal: stopping.signal })).trim());
      } finally {
        prompt.close();
      }
    },
    close() {
      eraseLive();
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}
