/** What an error of the registry client means to us. */
import { COMPATIBILITY } from '@kafkajs/confluent-schema-registry';
import { describeError, TidemarkError } from '@tidemark/keyspace';
import { contractsError } from '../../errors.ts';

/** No answer, or one that no registry gives; either way what was asked remains unknown. */
const NO_ANSWER_STATUS = 599;

export class NoRegistryAnswer extends Error {
  override readonly name = 'NoRegistryAnswer';
  readonly status = NO_ANSWER_STATUS;
}

/** How the client begins the message of an answer that has no `message` of its own, as every registry's has. */
const WITHOUT_MESSAGE = / - Error, status \d+/;
const NOT_FOUND_MESSAGE = /(schema|subject|version).*not found/i;

/**
 * The registry's status, or undefined for an error that is not about an answer. The client reports a refused connection,
 * a reset and a timeout as status 400, and a wrong path or a proxy before the registry says 404: taken for the registry's
 * word, either would dead-letter good records, so a status counts only with the words of a registry beside it.
 */
export function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('status' in error) || typeof error.status !== 'number') return undefined;
  if (error.status >= 500 || error.status === 401 || error.status === 403) return error.status;
  if (WITHOUT_MESSAGE.test(error.message)) return NO_ANSWER_STATUS;
  if (error.status === 404 && !NOT_FOUND_MESSAGE.test(error.message)) return NO_ANSWER_STATUS;
  return error.status;
}

/** The compatibility level of a subject, when the client gave up because it is not the one it was given. */
export function levelInForce(error: unknown): COMPATIBILITY | undefined {
  if (!(error instanceof Error) || error.name !== 'ConfluentSchemaRegistryCompatibilityError') return undefined;
  const named = /\(\w+ != (\w+)\)/.exec(error.message)?.[1];
  return Object.values(COMPATIBILITY).find((level) => level === named);
}

/** 409 means "incompatible" when a schema is posted; when a level is put, that somebody else has just put one. */
export function isLevelConflict(error: unknown): boolean {
  return statusOf(error) === 409 && error instanceof Error && 'url' in error && String(error.url).startsWith('put ');
}

export interface RegistryFailure {
  readonly error: unknown;
  /** What was asked, e.g. `schema 17`. */
  readonly what: string;
  /** Of the registry, without credentials. */
  readonly address: string;
}

/** `unavailable` unless the registry (or the parser of its schema) said otherwise. */
export function registryError(failure: RegistryFailure): TidemarkError {
  const { error, what, address } = failure;
  if (error instanceof TidemarkError) return error;
  const said = describeError(error);
  const context = { registry: address };
  switch (statusOf(error)) {
    case undefined:
      return contractsError(
        'NOT_DECODABLE',
        `${what}: the registry at ${address} holds a schema that cannot be used: ${said}`,
        context,
        error,
      );
    case 401:
    case 403:
      return contractsError(
        'REGISTRY_REFUSED',
        `the registry at ${address} refuses our credentials (${what}): ${said}`,
        context,
        error,
      );
    case 409:
      return contractsError(
        'INCOMPATIBLE_SCHEMA',
        `${what}: the registry at ${address} refuses the schema as incompatible with the older ones: ${said}`,
        context,
        error,
      );
    case 400:
    case 422:
      return contractsError(
        'INVALID_SCHEMA',
        `${what}: the registry at ${address} refuses the schema: ${said}`,
        context,
        error,
      );
    default:
      return contractsError(
        'REGISTRY_UNAVAILABLE',
        `the schema registry at ${address} does not answer (${what}): ${said}`,
        context,
        error,
      );
  }
}
