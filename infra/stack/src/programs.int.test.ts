import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@tidemark/testkit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { programs, startProgram, stopPrograms, WORKER_NODE_ARGUMENTS } from './programs.ts';

let home: { root: string; folder: string };

beforeEach(() => {
  const root = mkdtempSync(join(tmpdir(), 'tidemark-programs-'));
  home = { root, folder: join(root, '.stack') };
  writeFileSync(
    join(root, 'idle.mjs'),
    "process.on('SIGTERM', () => process.exit(0)); console.log(process.env.WORD, process.execArgv.join()); setInterval(() => {}, 1000);",
  );
  writeFileSync(join(root, 'ends.mjs'), '');
});

afterEach(async () => {
  await stopPrograms(home);
  rmSync(home.root, { recursive: true, force: true });
});

/** A child that has ended is a zombie, which takes signals, until this process has looked after it. */
function beGone(pid: number): Promise<true> {
  return waitFor('its end', () => {
    try {
      return !process.kill(pid, 0);
    } catch (error) {
      return error instanceof Error && 'code' in error && error.code === 'ESRCH';
    }
  });
}

it('starts programs that are found again, with their settings and a log, and stops them all', async () => {
  const a = await startProgram(
    { name: 'a', script: 'idle.mjs', env: { WORD: 'hello' }, nodeArguments: WORKER_NODE_ARGUMENTS },
    home,
  );
  await startProgram({ name: 'b', script: 'idle.mjs' }, home);
  expect(programs(home).map(({ name, alive }) => [name, alive])).toEqual([
    ['a', true],
    ['b', true],
  ]);
  await waitFor('the log', () => readFileSync(a.logFile, 'utf8').includes('hello --max-semi-space-size=16'));
  expect(await stopPrograms(home)).toEqual(['a', 'b']);
  expect(programs(home)).toEqual([]);
  await beGone(a.pid);
});

it('stops the older program of the same name first', async () => {
  const first = await startProgram({ name: 'a', script: 'idle.mjs' }, home);
  const second = await startProgram({ name: 'a', script: 'idle.mjs' }, home);
  expect(second.pid).not.toBe(first.pid);
  await beGone(first.pid);
  expect(programs(home)).toHaveLength(1);
});

it('tells of a program that has ended by itself', async () => {
  await startProgram({ name: 'short', script: 'ends.mjs' }, home);
  await waitFor('its end', () => programs(home)[0]?.alive === false);
  expect(await stopPrograms(home)).toEqual([]);
});
