/** A seed as text: what took effect, and what the programs said about it. */

import { COUNTER_NAMES } from '@tidemark/keyspace';
import type { Logger } from '@tidemark/observability';
import type { HistoryEvent } from './history.ts';
import { BEGIN_MS } from './limits.ts';

export function printEvent(event: HistoryEvent): void {
  // Answers are filled in before anything else happens.
  queueMicrotask(() => queueMicrotask(() => queueMicrotask(() => console.log(textOf(event)))));
}

/** Prints what a process logs, with the simulated time. */
export function tracingLogger(process: string): Logger {
  const line =
    (level: string) =>
    (...parts: [string] | [Readonly<Record<string, unknown>>, string]): void => {
      const [fields, text] = parts.length === 1 ? [{}, parts[0]] : parts;
      console.log(`${at(Date.now() - BEGIN_MS)} ${process}   ${level} ${text} ${json(fields)}`);
    };
  const logger: Logger = {
    debug: () => undefined,
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child: () => logger,
  };
  return logger;
}

function textOf(event: HistoryEvent): string {
  const { atMs, by, kind, ...rest } = event;
  return `${at(atMs)} ${by} ${kind} ${json(shortened(rest as Readonly<Record<string, unknown>>))}`;
}

function at(ms: number): string {
  return (ms / 1000).toFixed(3).padStart(8);
}

/** Without what is the same in every line, and without counters that are zero. */
function shortened(value: unknown): unknown {
  if (value instanceof Map) return undefined;
  if (value instanceof Error) return value.message;
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(shortened);
  const entries = Object.entries(value as Readonly<Record<string, unknown>>)
    .filter(([name, each]) => each !== '' && each !== undefined && !(each === 0n && COUNTERS.has(name)))
    .filter(([name]) => !LEFT_OUT.has(name))
    .map(([name, each]) => [name, shortened(each)] as const);
  return Object.fromEntries(entries);
}

const COUNTERS: ReadonlySet<string> = new Set(COUNTER_NAMES);
const LEFT_OUT: ReadonlySet<string> = new Set([
  'definition',
  'request.definition',
  'incarnation',
  'formatVersion',
  'parameters',
]);

function json(value: unknown): string {
  return JSON.stringify(shortened(value));
}
