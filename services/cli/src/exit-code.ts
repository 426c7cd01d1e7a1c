/** How the command line ends: fixed numbers, so that scripts can lean on them. */
import { describeError, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { StackError } from '@tidemark/stack';

export const ExitCode = {
  ok: 0,
  failed: 1,
  /** The command makes no sense as it was written. */
  usage: 2,
  notFound: 3,
  /** It makes sense, but not with what is there already. */
  conflict: 5,
  unavailable: 6,
  timedOut: 7,
  /** The job is complete, with dead letters or loss. */
  finishedWithFaults: 8,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** Ends a command with a message for its user. It is no fault of the program, so it has no cause and shows no stack. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

export function fail(exitCode: ExitCode, message: string): never {
  throw new CommandFailure(exitCode, message);
}

/** Refusals of the libraries that the class alone does not tell apart: what is not there, and what was written wrongly. */
const CODES: Readonly<Record<string, ExitCode>> = {
  BAD_CONFIG: ExitCode.usage,
  BAD_NAMESPACE: ExitCode.usage,
  BAD_ARGUMENT: ExitCode.usage,
  NO_SUCH_COLUMN: ExitCode.notFound,
  NO_SUCH_TABLE: ExitCode.notFound,
  NOT_ATTACHED: ExitCode.notFound,
  OUTBOX_NOT_INSTALLED: ExitCode.notFound,
};

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandFailure) return error.exitCode;
  if (error instanceof StackError) return ExitCode.unavailable;
  if (!(error instanceof TidemarkError)) return ExitCode.failed;
  const known = CODES[error.code];
  if (known !== undefined) return known;
  if (error.class === ErrorClass.unavailable) return ExitCode.unavailable;
  return error.class === ErrorClass.config ? ExitCode.conflict : ExitCode.failed;
}

/** One message, never a stack trace. What nobody foresaw says so, because then the message alone may puzzle. */
export function messageOf(error: unknown): string {
  const expected = error instanceof CommandFailure || error instanceof TidemarkError || error instanceof StackError;
  if (!expected) return `internal error: ${describeError(error)}`;
  const isMissing = error instanceof TidemarkError && error.code === 'OUTBOX_NOT_INSTALLED';
  const needsAdvice = isMissing && !error.message.includes('tidemark outbox install');
  return needsAdvice ? `${error.message}; "tidemark outbox install" creates the outbox` : error.message;
}
