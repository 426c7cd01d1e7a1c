import { environmentOf, type SpawnedProgram, spawnProgram, uniqueNamespace } from '@tidemark/testkit';
import { expect, it, onTestFinished } from 'vitest';

/** The command line as a process of its own. A SIGKILL would leave the program that it runs, and that would hold its output open. */
function tidemark(args: readonly string[], env: Readonly<Record<string, string>>): SpawnedProgram {
  const program = spawnProgram({ script: 'services/cli/src/main.ts', args, env });
  onTestFinished(() => program.kill('SIGTERM'));
  return program;
}

it('runs a program in the foreground, hands a signal on, and ends as it ends', async () => {
  const program = tidemark(['distributor'], environmentOf(uniqueNamespace('cli')));
  await program.logged('program.started');
  program.signal('SIGTERM');
  expect((await program.exit).code).toBe(0);
  await program.logged('program.stopped');
});

it.each([
  ['distributor', 'TIDEMARK_KAFKA', '127.0.0.1:1'],
  ['worker', 'TIDEMARK_REDIS', 'redis://127.0.0.1:1'],
  ['relay', 'TIDEMARK_POSTGRES', 'postgres://somebody:hidden@127.0.0.1:1/app'],
])('a service that is down when %s starts: exit 6, and the address is named', async (program, variable, address) => {
  const args = program === 'relay' ? ['relay', 'run'] : [program];
  const failing = tidemark(args, { ...environmentOf(uniqueNamespace('cli')), [variable]: address });
  expect((await failing.exit).code).toBe(6);
  const faults = failing.lines.filter((line) => line.startsWith('tidemark '));
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatch(new RegExp(`^tidemark ${program}: .*127.0.0.1:1`));
  expect(failing.lines.filter((line) => /^\s+at /.test(line))).toEqual([]);
});

it('is a program that ends with the exit code of its command', async () => {
  const env = environmentOf('none');
  expect((await tidemark(['config', '-o', 'json'], env).exit).code).toBe(0);
  expect((await tidemark(['fly'], env).exit).code).toBe(2);
});
