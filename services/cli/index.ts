/** For tests of whole systems: the command line without a process of its own. */
export { runCli } from './src/cli.ts';
export { ExitCode } from './src/exit-code.ts';
export type { Terminal } from './src/terminal.ts';
