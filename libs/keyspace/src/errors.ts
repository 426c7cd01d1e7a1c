/**
 * One base error for the whole project. The class of an error fixes the reaction, so that a catch site never
 * has to know the sender:
 *
 * - `transient`    try again, a bounded number of times
 * - `fenced`       somebody newer owns this; drop the work without alarm
 * - `data`         this record is bad: dead-letter it, the neighbours go on
 * - `unavailable`  a dependency is down: the chunk stops, the cursor stays, no attempt is spent
 * - `lost`         the log no longer holds what was asked for; a verdict, never a retry
 * - `config`       a person must change something; the program exits at start
 * - `bug`          an invariant broke; this process must not go on
 */
export const ErrorClass = {
  transient: 'transient',
  fenced: 'fenced',
  data: 'data',
  unavailable: 'unavailable',
  lost: 'lost',
  config: 'config',
  bug: 'bug',
} as const;
export type ErrorClass = (typeof ErrorClass)[keyof typeof ErrorClass];

export type ErrorContext = Readonly<Record<string, string | number | bigint | boolean | null | undefined>>;

export interface TidemarkErrorOptions {
  /** SCREAMING_SNAKE, stable, documented in the room that throws it. */
  readonly code: string;
  readonly class: ErrorClass;
  /** What happened, where, and what to do about it, in one or two sentences for a person. */
  readonly message: string;
  readonly context?: ErrorContext;
  readonly cause?: unknown;
}

export class TidemarkError extends Error {
  override readonly name = 'TidemarkError';
  readonly code: string;
  readonly class: ErrorClass;
  readonly context: ErrorContext;

  constructor(options: TidemarkErrorOptions) {
    super(options.message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code;
    this.class = options.class;
    this.context = options.context ?? {};
  }
}

/** What is needed is away, or failed once: worth another try, and no fault of the work. */
export function isOutage(error: unknown): error is TidemarkError {
  return (
    error instanceof TidemarkError && (error.class === ErrorClass.unavailable || error.class === ErrorClass.transient)
  );
}

/** The text of anything that was thrown, for messages and logs. */
export function describeError(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message === '' ? thrown.name : thrown.message;
  return String(thrown);
}

/** Where Node and the clients put their reason: ECONNREFUSED, 57P01; Kafka's are numbers. */
export function codeOf(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown)) return undefined;
  const { code } = thrown;
  return typeof code === 'string' || typeof code === 'number' ? String(code) : undefined;
}

/** Codes of Node for a server that cannot be reached, or not any more. */
export const CONNECTION_FAULTS: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
]);
