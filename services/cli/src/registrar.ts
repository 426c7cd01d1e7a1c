/** How commands are declared, so that all have the same options and the same ends. */
import { type Command, Option } from 'commander';
import { readConfig } from './config.ts';
import type { Context } from './context.ts';
import { ExitCode } from './exit-code.ts';
import { Format } from './output.ts';
import type { Terminal } from './terminal.ts';

/** A command does its work and says how it ended; without a word it ended well. */
export type Action<Arguments extends readonly unknown[], Options> = (
  context: Context,
  given: Arguments,
  options: Options,
) => Promise<ExitCode | undefined> | Promise<void>;

export interface Registrar {
  /** A word that has commands below it; by itself it explains them. */
  group(parent: Command, name: string, description: string): Command;
  /** A command with the options that all have, and those of `CommonOptions` that act in it. */
  command(
    parent: Command,
    nameAndArguments: string,
    description: string,
    common?: readonly (keyof CommonOptions)[],
  ): Command;
  /** Binds the work to a command. `Arguments` and `Options` are what its declaration says. */
  run<Arguments extends readonly unknown[], Options extends object>(
    command: Command,
    action: Action<Arguments, Options>,
  ): void;
}

/** Options that mean the same wherever they are. A command declares those that it heeds, so that none is thrown away. */
export interface CommonOptions {
  readonly yes: boolean;
  readonly reason: string;
  readonly dryRun: boolean;
}

const COMMON: { readonly [Name in keyof CommonOptions]: (command: Command) => Command } = {
  yes: (command) => command.option('-y, --yes', 'do not ask', false),
  reason: (command) => command.option('--reason <text>', 'why, for the audit trail', ''),
  dryRun: (command) => command.option('--dry-run', 'check and show, change nothing', false),
};

/** `onEnd` hears how the command ended that the arguments named. */
export function createRegistrar(terminal: Terminal, onEnd: (exitCode: ExitCode) => void): Registrar {
  return {
    group: (parent, name, description) => parent.command(name).description(description),
    command(parent, nameAndArguments, description, common = []) {
      const command = parent
        .command(nameAndArguments)
        .description(description)
        .addOption(
          new Option('-o, --output <format>', 'how to answer').choices(Object.values(Format)).default(Format.table),
        );
      for (const name of common) COMMON[name](command);
      return command;
    },
    run<Arguments extends readonly unknown[], Options extends object>(
      command: Command,
      action: Action<Arguments, Options>,
    ) {
      command.action(async () => {
        const options = command.opts<Options & { output: Format }>();
        const context = { terminal, effective: readConfig(terminal.env), format: options.output };
        const exitCode = await action(context, command.processedArgs as readonly unknown[] as Arguments, options);
        onEnd(exitCode ?? ExitCode.ok);
      });
    },
  };
}
