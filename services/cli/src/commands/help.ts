/** `tidemark help job submit`: commander's own help command would look at the first word only. */
import type { Command } from 'commander';

export function registerHelp(program: Command): void {
  program
    .command('help [command...]')
    .description('explain a command')
    .action((words: readonly string[]) => {
      let explained = program;
      for (const word of words) {
        const below = explained.commands.find((command) => command.name() === word);
        explained = below ?? explained.error(`error: unknown command '${word}'`, { code: 'commander.unknownCommand' });
      }
      explained.outputHelp();
    });
}
