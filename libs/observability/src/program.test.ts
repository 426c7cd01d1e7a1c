import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { errorLine, exitCodeOf, type Running, runProgram } from './program.ts';
import type { ProgramHost, StopSignal } from './program-host.ts';

/** A process that remembers instead of ending. */
function fakeHost() {
  const lines: string[] = [];
  let signalled: (signal: StopSignal) => void = () => undefined;
  let unhandled: (error: unknown) => void = () => undefined;
  let exit: (code: number) => void = () => undefined;
  const exited = new Promise<number>((resolve) => {
    exit = resolve;
  });
  const host: ProgramHost = {
    onSignal: (listener) => {
      signalled = listener;
    },
    onUnhandled: (listener) => {
      unhandled = listener;
    },
    writeError: (line) => void lines.push(line),
    exit,
  };
  return {
    host,
    lines,
    exited,
    signal: (name: StopSignal) => signalled(name),
    throwUnhandled: (error: unknown) => unhandled(error),
  };
}

const never = new Promise<never>(() => undefined);
const errorOf = (errorClass: ErrorClass, message = 'Kafka does not answer') =>
  new TidemarkError({ code: 'X', class: errorClass, message });

function run(start: (signal: AbortSignal) => Promise<Running>) {
  const fake = fakeHost();
  const ended = runProgram({ name: 'worker', start, host: fake.host });
  return { ...fake, ended };
}

describe('runProgram', () => {
  it('stops on a signal, once, and ends with 0', async () => {
    const reasons: string[] = [];
    const { signal, exited, lines } = run(async () => ({ stop: async (reason) => void reasons.push(reason) }));
    signal('SIGTERM');
    expect(await exited).toBe(0);
    expect(reasons).toEqual(['SIGTERM']);
    expect(lines).toEqual([]);
  });

  it('ends with the code that a program which finished gives', async () => {
    const { exited } = run(async () => ({ ended: Promise.resolve(), exitCode: 1, stop: async () => undefined }));
    expect(await exited).toBe(1);
  });

  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('ends at once on a second signal (%s)', async (name, code) => {
    const { signal, exited } = run(async () => ({ stop: () => never }));
    signal('SIGTERM');
    signal(name);
    expect(await exited).toBe(code);
  });

  it('says so and ends with 1 when stopping takes longer than the grace', async () => {
    const { signal, exited, lines } = run(async () => ({ stop: () => never, stopGraceMs: 1 }));
    signal('SIGTERM');
    expect(await exited).toBe(1);
    expect(lines).toEqual(['tidemark worker: did not stop within 1 ms of SIGTERM']);
  });

  it('ends with 1 when stopping fails', async () => {
    const { signal, exited, lines } = run(async () => ({
      stop: () => Promise.reject(errorOf(ErrorClass.transient, 'the flush failed')),
    }));
    signal('SIGTERM');
    expect(await exited).toBe(1);
    expect(lines).toEqual(['tidemark worker: the flush failed']);
  });

  it.each([
    [ErrorClass.config, 2],
    [ErrorClass.unavailable, 6],
    [ErrorClass.bug, 1],
    [ErrorClass.fenced, 1],
  ])('ends a start that fails with class %s by exit code %i and one line', async (errorClass, code) => {
    const { exited, lines } = run(() => Promise.reject(errorOf(errorClass)));
    expect(await exited).toBe(code);
    expect(lines).toEqual(['tidemark worker: Kafka does not answer']);
  });

  it('is cancelled by a signal while it starts, without an error', async () => {
    const { signal, exited, lines } = run(async (starting) => {
      await new Promise((resolve) => starting.addEventListener('abort', resolve));
      throw errorOf(ErrorClass.unavailable, 'aborted');
    });
    signal('SIGINT');
    expect(await exited).toBe(0);
    expect(lines).toEqual([]);
  });

  it('does not wait for a start that does not notice the signal', async () => {
    const fake = fakeHost();
    void runProgram({ name: 'worker', start: () => never, host: fake.host, startGraceMs: 1 });
    fake.signal('SIGTERM');
    expect(await fake.exited).toBe(0);
  });

  it('stops what a start that was told to stop still brought up', async () => {
    const reasons: string[] = [];
    const { signal, exited } = run(async (starting) => {
      await new Promise((resolve) => starting.addEventListener('abort', resolve));
      return { stop: async (reason) => void reasons.push(reason) };
    });
    signal('SIGTERM');
    expect(await exited).toBe(0);
    expect(reasons).toEqual(['SIGTERM']);
  });

  it('ends with 0 when the program finishes by itself, after stopping it', async () => {
    const reasons: string[] = [];
    const { exited } = run(async () => ({
      stop: async (reason) => void reasons.push(reason),
      ended: Promise.resolve(),
    }));
    expect(await exited).toBe(0);
    expect(reasons).toEqual(['finished']);
  });

  it('ends with the code of the fault when the program fails while it runs', async () => {
    const { exited, lines } = run(async () => ({
      stop: async () => undefined,
      ended: Promise.reject(errorOf(ErrorClass.unavailable)),
    }));
    expect(await exited).toBe(6);
    expect(lines).toEqual(['tidemark worker: Kafka does not answer']);
  });

  it('ends at once as a bug when a rejection is not handled', async () => {
    const { throwUnhandled, exited, lines } = run(async () => ({ stop: () => never }));
    throwUnhandled(new TypeError('x is undefined'));
    expect(await exited).toBe(1);
    expect(lines).toEqual(['tidemark worker: internal error: x is undefined']);
  });
});

describe('errorLine and exitCodeOf', () => {
  it('make one line of any message', () => {
    expect(errorLine('relay', errorOf(ErrorClass.config, 'two\n  lines\r\nand more\n'))).toBe(
      'tidemark relay: two lines and more',
    );
    expect(errorLine('relay', 'text')).toBe('tidemark relay: internal error: text');
  });

  it('give 1 to what is not ours', () => {
    expect(exitCodeOf(new Error('x'))).toBe(1);
    expect(exitCodeOf(undefined)).toBe(1);
  });
});
