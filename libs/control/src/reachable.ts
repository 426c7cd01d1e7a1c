/** Is somebody there at all? Asked before the clients are, because they try for long before they say no. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { codeOf, describeError, describeServer, ErrorClass, serverAddress, TidemarkError } from '@tidemark/keyspace';
import { REACH_TIMEOUT_MS } from './limits.ts';

export interface Service {
  /** For people: `Kafka`. */
  readonly name: string;
  /** Any one that answers is enough. */
  readonly addresses: readonly string[];
  /** The setting that holds the address. */
  readonly variable: string;
}

/** Throws TidemarkError `unavailable` (NOT_REACHABLE) that names all services that do not answer, and where they were looked for. */
export async function assertReachable(services: readonly Service[]): Promise<void> {
  const faults = await Promise.all(services.map(faultOf));
  const told = faults.filter((fault) => fault !== undefined);
  if (told.length === 0) return;
  throw new TidemarkError({
    code: 'NOT_REACHABLE',
    class: ErrorClass.unavailable,
    message: `${told.join('; ')}. "tidemark up" starts local services`,
  });
}

async function faultOf(service: Service): Promise<string | undefined> {
  const faults = await Promise.all(service.addresses.map(faultAt));
  if (faults.some((fault) => fault === undefined)) return undefined;
  // Host and port only: a URL may hold a password.
  const places = service.addresses.map(describeServer);
  return `${service.name} at ${places.join(', ')} (${service.variable}) does not answer: ${faults[0]}`;
}

async function faultAt(address: string): Promise<string | undefined> {
  // A name that is slow to resolve counts as well, so the limit is on the whole attempt.
  const signal = AbortSignal.timeout(REACH_TIMEOUT_MS);
  const socket = connect(serverAddress(address));
  try {
    await once(socket, 'connect', { signal });
    return undefined;
  } catch (error) {
    return signal.aborted ? `no answer within ${REACH_TIMEOUT_MS} ms` : wordsFor(error);
  } finally {
    socket.destroy();
  }
}

function wordsFor(error: unknown): string {
  const code = codeOf(error);
  if (code === 'ECONNREFUSED') return 'connection refused';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'unknown host';
  return describeError(error);
}
