/** `tidemark relay run`, `distributor`, `worker`, `console`: our programs in the foreground, with the addresses that are in effect. */
import { consolePort } from '@tidemark/stack';
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { ExitCode } from '../exit-code.ts';
import type { Registrar } from '../registrar.ts';
import { type ProgramName, runInForeground } from '../repository.ts';

export function registerPrograms(program: Command, { command, run }: Registrar): void {
  run(command(program, 'distributor', 'pin, plan, checkpoint and close jobs until stopped'), (context) =>
    foreground(context, 'distributor'),
  );
  run(command(program, 'console', 'serve the pages that show jobs, lag and services until stopped'), (context) =>
    foreground(context, 'console', { TIDEMARK_CONSOLE_PORT: String(consolePort()) }),
  );
  const worker = command(program, 'worker', 'work on ranges until stopped')
    .option('--handlers <file...>', 'modules with handlers; the built-in ones are always there', [])
    .option('--slots <count>', 'ranges worked on at the same time');
  run(worker, (context, _: [], options: { readonly handlers: readonly string[]; readonly slots?: string }) =>
    foreground(context, 'worker', {
      ...(options.handlers.length === 0 ? {} : { TIDEMARK_HANDLERS: options.handlers.join(',') }),
      ...(options.slots === undefined ? {} : { TIDEMARK_SLOTS: options.slots }),
    }),
  );
}

/** What the program answers is the answer; its exit codes are among ours. */
export async function foreground(
  context: Context,
  program: ProgramName,
  settings: Readonly<Record<string, string>> = {},
): Promise<ExitCode> {
  const code = await runInForeground(program, { ...context.effective.env, ...settings }, context.terminal.signal);
  return Object.values(ExitCode).find((known) => known === code) ?? ExitCode.failed;
}
