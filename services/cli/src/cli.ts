/** The whole command line as a function: arguments in, exit code out. */
import { Command, CommanderError } from 'commander';
import { registerConfig } from './commands/config.ts';
import { registerDeadLetter } from './commands/dead-letter.ts';
import { registerHelp } from './commands/help.ts';
import { registerJob } from './commands/job.ts';
import { registerOutbox } from './commands/outbox.ts';
import { registerPrograms } from './commands/programs.ts';
import { registerRelay } from './commands/relay.ts';
import { registerRetention } from './commands/retention.ts';
import { registerSeries } from './commands/series.ts';
import { registerStack } from './commands/stack.ts';
import { registerTopic } from './commands/topic.ts';
import { registerWindow } from './commands/window.ts';
import { ExitCode, exitCodeOf, messageOf } from './exit-code.ts';
import { createRegistrar } from './registrar.ts';
import type { Terminal } from './terminal.ts';
import { VERSION } from './version.ts';

/** Never throws and never exits the process. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const outcome: { exitCode: ExitCode } = { exitCode: ExitCode.ok };
  const program = buildProgram(terminal, (exitCode) => {
    outcome.exitCode = exitCode;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return outcome.exitCode;
  } catch (error) {
    // Help and version end with 0, everything else that commander finds is a fault of the arguments, already told.
    if (error instanceof CommanderError) return error.exitCode === 0 ? ExitCode.ok : ExitCode.usage;
    terminal.live('');
    terminal.note(`tidemark: ${messageOf(error)}`);
    return exitCodeOf(error);
  }
}

function buildProgram(terminal: Terminal, onEnd: (exitCode: ExitCode) => void): Command {
  // Commands below inherit how to end and where to write.
  const program = new Command('tidemark')
    .description('Bounded, exact traversals of Kafka topics: pinned windows, durable cursors, nothing lost.')
    .version(VERSION, '--version', 'print the version')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.out(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd().replace(/^error: /, 'tidemark: ')),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  const registrar = createRegistrar(terminal, onEnd);
  registerStack(program, registrar);
  registerOutbox(program, registrar);
  registerRelay(program, registrar);
  registerPrograms(program, registrar);
  registerJob(program, registrar);
  registerSeries(program, registrar);
  registerWindow(program, registrar);
  registerTopic(program, registrar);
  registerDeadLetter(program, registrar);
  registerRetention(program, registrar);
  registerConfig(program, registrar);
  registerHelp(program);
  return program;
}
