export { type Console, type ConsoleOptions, startConsole } from './src/console.ts';
