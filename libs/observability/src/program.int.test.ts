import { type SpawnedProgram, spawnProgram } from '@tidemark/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';

function launch(manner: 'idle' | 'stubborn' | 'careless'): SpawnedProgram {
  const program = spawnProgram({ script: 'libs/observability/src/testing/demo-program.ts', args: [manner] });
  onTestFinished(() => program.kill('SIGKILL'));
  return program;
}

describe('a program in a process of its own', () => {
  it('ends with 0 and without a word on stderr when it is told to', async () => {
    const program = launch('idle');
    await program.logged('program.started');
    program.signal('SIGTERM');
    expect(await program.exit).toEqual({ code: 0, signal: null });
    expect(program.stderr()).toBe('');
  });

  it('ends at once on the second signal', async () => {
    const program = launch('stubborn');
    await program.logged('program.started');
    program.signal('SIGTERM');
    // Signals of one kind merge while the first is not yet delivered, so the second is of another kind.
    program.signal('SIGINT');
    expect([130, 143]).toContain((await program.exit).code);
    expect(program.stderr()).toBe('');
  });

  it('ends as a bug on a rejection that nobody handles, in one line without a stack', async () => {
    const program = launch('careless');
    expect(await program.exit).toEqual({ code: 1, signal: null });
    expect(program.stderr()).toBe('tidemark demo: internal error: x is undefined\n');
  });
});
