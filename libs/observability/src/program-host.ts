/** The operating-system side of a program's life, apart from its rules so that those can be tested. */
import process from 'node:process';

export type StopSignal = 'SIGTERM' | 'SIGINT';

export interface ProgramHost {
  onSignal(listener: (signal: StopSignal) => void): void;
  /** Rejections that nobody handles and exceptions that nobody catches. */
  onUnhandled(listener: (error: unknown) => void): void;
  writeError(line: string): void;
  exit(code: number): void;
}

export function processHost(): ProgramHost {
  return {
    onSignal(listener) {
      for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => listener(signal));
    },
    onUnhandled(listener) {
      process.on('unhandledRejection', listener);
      process.on('uncaughtException', listener);
    },
    writeError(line) {
      process.stderr.write(`${line}\n`);
    },
    exit(code) {
      process.exit(code);
    },
  };
}
