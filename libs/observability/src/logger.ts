/**
 * Logs: one JSON object a line on stdout; the message is the name of an event (`chunk.advanced`), data are fields from
 * one dictionary (README). Payloads, keys and headers of records never go into a log.
 */
import { createRequire } from 'node:module';
import { codeOf, TidemarkError } from '@tidemark/keyspace';
import type { DestinationStream, Logger as PinoLogger } from 'pino';
import { LOG_ARRAY_MAX, LOG_DEPTH_MAX } from './limits.ts';

export const LogLevel = { debug: 'debug', info: 'info', warn: 'warn', error: 'error', silent: 'silent' } as const;
export type LogLevel = (typeof LogLevel)[keyof typeof LogLevel];

/** bigint and errors are welcome: they become text and a few fields. */
export type LogFields = Readonly<Record<string, unknown>>;

interface LogLine {
  (event: string): void;
  (fields: LogFields, event: string): void;
}

/** error = a person must act, warn = degraded and healing, info = lifecycle, debug = per chunk. */
export interface Logger {
  readonly debug: LogLine;
  readonly info: LogLine;
  readonly warn: LogLine;
  readonly error: LogLine;
  /** A logger that adds these fields to every line. */
  child(fields: LogFields): Logger;
}

export interface LoggerOptions {
  readonly program: string;
  readonly level: LogLevel;
  /** Default stdout. Programs that print their result there give stderr. */
  readonly destination?: DestinationStream;
}

export function createLogger(options: LoggerOptions): Logger {
  // Loaded at the first need: commands that write no log start without it.
  const { pino, stdTimeFunctions } = createRequire(import.meta.url)('pino') as typeof import('pino');
  const withStacks = options.level === LogLevel.debug;
  const settings = {
    level: options.level,
    base: { program: options.program },
    timestamp: stdTimeFunctions.isoTime,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: LogFields) => plainFields(fields, withStacks),
    },
  };
  return wrap(options.destination === undefined ? pino(settings) : pino(settings, options.destination), withStacks);
}

/** pino formats the fields of a line but not those that a child adds to all its lines, so a child gets them plain. */
function wrap(inner: PinoLogger, withStacks: boolean): Logger {
  return {
    debug: inner.debug.bind(inner),
    info: inner.info.bind(inner),
    warn: inner.warn.bind(inner),
    error: inner.error.bind(inner),
    child: (fields) => wrap(inner.child(plainFields(fields, withStacks)), withStacks),
  };
}

const ignore = (): void => undefined;
/** For tests and for callers that give none. */
export const silentLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  child: () => silentLogger,
};

/** JSON has no bigint and pino's own writer would print it as a number that readers round; text keeps every digit. */
function plainFields(fields: LogFields, withStacks: boolean): Record<string, unknown> {
  return plainObject(fields, withStacks, 0);
}

function plainObject(fields: object, withStacks: boolean, depth: number): Record<string, unknown> {
  const plain: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) plain[name] = plainValue(value, withStacks, depth + 1);
  return plain;
}

function plainValue(value: unknown, withStacks: boolean, depth: number): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'function' || typeof value === 'symbol') return undefined;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return plainError(value, withStacks, depth);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString();
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (depth > LOG_DEPTH_MAX) return '...';
  if (Array.isArray(value)) return plainArray(value, withStacks, depth);
  if (value instanceof Map) return plainObject(Object.fromEntries(value), withStacks, depth);
  if (value instanceof Set) return plainArray([...value], withStacks, depth);
  return plainObject(value, withStacks, depth);
}

function plainArray(items: readonly unknown[], withStacks: boolean, depth: number): readonly unknown[] {
  const plain = items.slice(0, LOG_ARRAY_MAX).map((item) => plainValue(item, withStacks, depth + 1));
  return items.length > LOG_ARRAY_MAX ? [...plain, `and ${items.length - LOG_ARRAY_MAX} more`] : plain;
}

function plainError(error: Error, withStacks: boolean, depth: number): LogFields {
  const own =
    error instanceof TidemarkError
      ? { code: error.code, class: error.class, context: plainObject(error.context, withStacks, depth) }
      : { code: codeOf(error) };
  const cause =
    error.cause === undefined || depth > LOG_DEPTH_MAX ? {} : { cause: plainValue(error.cause, withStacks, depth + 1) };
  return { name: error.name, message: error.message, ...own, ...cause, ...(withStacks ? { stack: error.stack } : {}) };
}
