#!/usr/bin/env node
import { enableCompileCache } from 'node:module';

// First of all, and everything else after it: modules compiled and stripped of their types are half of a short command.
enableCompileCache();

const { runCli } = await import('./cli.ts');
const { processTerminal } = await import('./terminal.ts');

const terminal = processTerminal();
process.exitCode = await runCli(process.argv.slice(2), terminal);
terminal.close();
