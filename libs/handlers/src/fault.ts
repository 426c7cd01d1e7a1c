/**
 * What a thrown thing means for the record in hand. The handler's own `classify` is asked first, then a TidemarkError
 * says it itself, then the codes of Node and Postgres are read, also those of causes; the rest is worth another try.
 */
import { assertNever, CONNECTION_FAULTS, codeOf, describeError, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { FaultClass } from './handler.ts';
import { CAUSE_DEPTH_MAX, FAULT_TEXT_MAX } from './limits.ts';

export type Fault =
  /** The record is bad, or its attempts are used up: `message` goes into the dead letter. */
  | { readonly kind: 'data' | 'transient'; readonly message: string }
  /** `dependency` names what is down in a stable way, so that a note does not change with every attempt. */
  | { readonly kind: 'unavailable'; readonly dependency: string; readonly message: string }
  | { readonly kind: 'fenced'; readonly seen: string };

/** Total: any thrown value gets a class, and a `classify` that itself throws is ignored. */
export function classifyFault(thrown: unknown, classify?: (error: unknown) => FaultClass | undefined): Fault {
  const message = describeError(thrown).slice(0, FAULT_TEXT_MAX);
  const own = askHandler(thrown, classify);
  if (own === 'unavailable') return { kind: 'unavailable', dependency: dependencyOf(thrown), message };
  if (own !== undefined) return { kind: own, message };
  if (thrown instanceof TidemarkError) return faultOfClass(thrown, message);
  if (chainOf(thrown).some(isConnectionFault))
    return { kind: 'unavailable', dependency: dependencyOf(thrown), message };
  return { kind: 'transient', message };
}

function askHandler(
  thrown: unknown,
  classify: ((error: unknown) => FaultClass | undefined) | undefined,
): FaultClass | undefined {
  try {
    return classify?.(thrown);
  } catch {
    return undefined;
  }
}

function faultOfClass(error: TidemarkError, message: string): Fault {
  switch (error.class) {
    case ErrorClass.data:
      return { kind: 'data', message };
    case ErrorClass.fenced:
      return { kind: 'fenced', seen: String(error.context['seen'] ?? '') };
    // A setting that a person must change says nothing against the record, so no attempt is spent on it.
    case ErrorClass.unavailable:
    case ErrorClass.config:
      return { kind: 'unavailable', dependency: dependencyOf(error), message };
    case ErrorClass.transient:
    case ErrorClass.lost:
    case ErrorClass.bug:
      return { kind: 'transient', message };
    default:
      return assertNever(error.class);
  }
}

/** SQLSTATE classes: connection exceptions, insufficient resources, and an operator who shuts the server down. */
const POSTGRES_UNAVAILABLE = /^(08[0-9A-Z]{3}|53[0-9A-Z]{3}|57P0[1-3])$/;

function isConnectionFault(error: unknown): boolean {
  const code = codeOf(error);
  return code !== undefined && (CONNECTION_FAULTS.has(code) || POSTGRES_UNAVAILABLE.test(code));
}

/** The error, its cause, the cause of that: `fetch failed` hides its ECONNREFUSED there. Bounded, for causes may be circular. */
function chainOf(thrown: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  let link = thrown;
  while (link !== undefined && link !== null && chain.length < CAUSE_DEPTH_MAX) {
    chain.push(link);
    link = typeof link === 'object' ? (link as { readonly cause?: unknown }).cause : undefined;
  }
  return chain;
}

function dependencyOf(thrown: unknown): string {
  if (thrown instanceof TidemarkError) {
    const named = thrown.context['dependency'];
    return typeof named === 'string' ? named : thrown.code;
  }
  const link = chainOf(thrown).find(isConnectionFault);
  if (link === undefined) return thrown instanceof Error ? thrown.name : 'handler';
  const { address, hostname, port } = link as {
    readonly address?: unknown;
    readonly hostname?: unknown;
    readonly port?: unknown;
  };
  const host = typeof address === 'string' ? address : typeof hostname === 'string' ? hostname : undefined;
  const place = host === undefined ? '' : ` ${host}${typeof port === 'number' ? `:${port}` : ''}`;
  return `${codeOf(link)}${place}`;
}
