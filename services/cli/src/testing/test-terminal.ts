/** A terminal that remembers. */
import type { Environment } from '@tidemark/observability';
import { runCli } from '../cli.ts';
import type { ExitCode } from '../exit-code.ts';

export interface CliRun {
  readonly exitCode: ExitCode;
  /** Lines of the answer. */
  readonly out: readonly string[];
  /** Lines about the work, faults among them. */
  readonly notes: readonly string[];
}

/** Runs one command line in this process. Interactive ones answer every question with `answer`. */
export async function cli(
  args: readonly string[],
  env: Environment,
  options: {
    readonly answer?: boolean;
    readonly signal?: AbortSignal;
    /** Hears of every line of the answer. */
    readonly onOut?: (line: string) => void;
  } = {},
): Promise<CliRun> {
  const out: string[] = [];
  const notes: string[] = [];
  const exitCode = await runCli(args, {
    env,
    isInteractive: options.answer !== undefined,
    out: (line) => {
      out.push(line);
      options.onOut?.(line);
    },
    note: (line) => notes.push(line),
    live: () => {},
    confirm: async () => options.answer ?? false,
    signal: options.signal ?? new AbortController().signal,
  });
  return { exitCode, out, notes };
}
