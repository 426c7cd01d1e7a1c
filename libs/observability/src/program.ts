/**
 * The life of a program, the same for all:
 *
 *   starting --> running --> stopping --> exit 0        a signal, or `ended` resolved
 *       |            |           |
 *       |            |           +------> exit 1        not stopped within the grace, or stopping failed
 *       |            +------------------> stopping      `ended` rejected; then the exit code of that error
 *       +-------------------------------> exit by class of the error (2 config, 6 unavailable, 1 otherwise)
 *
 * A second signal, a rejection that nobody handles and an exception that nobody catches exit at once: correctness never
 * depends on a clean end. An error is one line on stderr; the stack is only in the debug log.
 */
import { describeError, ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import { START_GRACE_MS, STOP_GRACE_MS } from './limits.ts';
import { type Logger, silentLogger } from './logger.ts';
import { type ProgramHost, processHost, type StopSignal } from './program-host.ts';

/** A program that has started. */
export interface Running {
  /** Idempotent. Resolves when everything is drained and closed. */
  stop(reason: string): Promise<void>;
  /** Settles when the program ends by itself: resolved = finished, rejected = a fault. Without it only a signal ends it. */
  readonly ended?: Promise<void>;
  /** Of a program that has ended well and has something to say by it; 0 without it. */
  readonly exitCode?: ExitCode;
  readonly logger?: Logger;
  readonly stopGraceMs?: number;
}

export interface ProgramOptions {
  readonly name: string;
  /** The signal is aborted when the program is told to stop while it still starts; a throw or a result ends the start. */
  readonly start: (signal: AbortSignal) => Promise<Running>;
  readonly startGraceMs?: number;
  readonly host?: ProgramHost;
}

export const ExitCode = { ok: 0, failed: 1, config: 2, unavailable: 6 } as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

export function exitCodeOf(error: unknown): ExitCode {
  if (!(error instanceof TidemarkError)) return ExitCode.failed;
  if (error.class === ErrorClass.config) return ExitCode.config;
  return error.class === ErrorClass.unavailable ? ExitCode.unavailable : ExitCode.failed;
}

/** One line, whatever the message holds. */
export function errorLine(program: string, error: unknown): string {
  const text = describeError(error)
    .replaceAll(/\s*[\r\n]+\s*/g, ' ')
    .trim();
  return `tidemark ${program}: ${error instanceof TidemarkError ? text : `internal error: ${text}`}`;
}

type Ending =
  | { readonly kind: 'signal'; readonly signal: StopSignal }
  | { readonly kind: 'finished' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Runs until the program ends, then exits the process. Call it last in main.ts. */
export async function runProgram(options: ProgramOptions): Promise<void> {
  const { name, host = processHost(), startGraceMs = START_GRACE_MS } = options;
  const starting = new AbortController();
  let running: Running | undefined;
  const log = (): Logger => running?.logger ?? silentLogger;

  const fail = (error: unknown, event: string): void => {
    log().error({ error }, event);
    host.writeError(errorLine(name, error));
  };

  const signalled = new Promise<Ending>((resolve) => {
    let signals = 0;
    host.onSignal((signal) => {
      signals += 1;
      if (signals > 1) return host.exit(signal === 'SIGINT' ? 130 : 143);
      resolve({ kind: 'signal', signal });
      starting.abort();
      // A start that does not listen to its signal would otherwise need a second one.
      void sleep(startGraceMs).then(() => {
        if (running === undefined) host.exit(ExitCode.ok);
      });
    });
  });
  host.onUnhandled((error) => {
    fail(error, 'program.bug');
    host.exit(ExitCode.failed);
  });

  try {
    running = await options.start(starting.signal);
  } catch (error) {
    // Told to stop while starting: what the start threw is only the echo of that.
    if (starting.signal.aborted) return host.exit(ExitCode.ok);
    fail(error, 'program.failed');
    return host.exit(exitCodeOf(error));
  }

  log().info('program.started');
  const ending = await Promise.race([signalled, endedOf(running)]);
  if (ending.kind === 'failed') fail(ending.error, 'program.failed');
  const stopped = await stopWithin(running, ending, fail);
  if (ending.kind === 'failed') return host.exit(exitCodeOf(ending.error));
  host.exit(stopped ? (running.exitCode ?? ExitCode.ok) : ExitCode.failed);
}

async function endedOf(running: Running): Promise<Ending> {
  if (running.ended === undefined) return new Promise(() => undefined);
  try {
    await running.ended;
    return { kind: 'finished' };
  } catch (error) {
    return { kind: 'failed', error };
  }
}

/** False when stopping failed or took longer than the grace. */
async function stopWithin(
  running: Running,
  ending: Ending,
  fail: (error: unknown, event: string) => void,
): Promise<boolean> {
  const graceMs = running.stopGraceMs ?? STOP_GRACE_MS;
  const reason = ending.kind === 'signal' ? ending.signal : ending.kind;
  const logger = running.logger ?? silentLogger;
  logger.info({ reason, graceMs }, 'program.stopping');
  const grace = new AbortController();
  try {
    const outcome = await Promise.race([
      running.stop(reason).then(() => 'stopped' as const),
      sleep(graceMs, grace.signal).then(() => 'late' as const),
    ]);
    if (outcome === 'stopped') {
      logger.info({ reason }, 'program.stopped');
      return true;
    }
    fail(
      new TidemarkError({
        code: 'STOP_TIMED_OUT',
        class: ErrorClass.bug,
        message: `did not stop within ${graceMs} ms of ${reason}`,
      }),
      'program.stop_failed',
    );
  } catch (error) {
    fail(error, 'program.stop_failed');
  } finally {
    grace.abort();
  }
  return false;
}
