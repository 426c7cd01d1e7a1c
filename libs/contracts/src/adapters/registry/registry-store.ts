/** A Confluent-compatible schema registry through @kafkajs/confluent-schema-registry. */
import { COMPATIBILITY, SchemaRegistry, SchemaType } from '@kafkajs/confluent-schema-registry';
import avro from 'avsc';
import { avroOptions } from '../../avro-type.ts';
import { contractsError } from '../../errors.ts';
import { REGISTER_TRIES_MAX, REGISTRY_RETRIES, REGISTRY_RETRY_BASE_SECONDS } from '../../limits.ts';
import { Compatibility, type SchemaStore } from '../../schema-store.ts';
import { requestRules } from './middleware.ts';
import type { RegistryAddress } from './registry-address.ts';
import { isLevelConflict, levelInForce, registryError, statusOf } from './registry-errors.ts';

export interface RegistryStoreOptions {
  readonly registry: RegistryAddress;
  readonly requestTimeoutMs: number;
  readonly deadlineMs: number;
}

const LEVELS: Readonly<Record<Compatibility, COMPATIBILITY>> = {
  [Compatibility.backward]: COMPATIBILITY.BACKWARD,
  [Compatibility.full]: COMPATIBILITY.FULL,
};

export function createRegistryStore(options: RegistryStoreOptions): SchemaStore {
  const { address, auth } = options.registry;
  const newClient = () =>
    new SchemaRegistry(
      {
        host: address,
        ...(auth === undefined ? {} : { auth }),
        retry: { retries: REGISTRY_RETRIES, initialRetryTimeInSecs: REGISTRY_RETRY_BASE_SECONDS },
        middlewares: [requestRules(options.requestTimeoutMs)],
      },
      { [SchemaType.AVRO]: avroOptions() },
    );
  let client = newClient();

  async function ask<T>(what: string, question: (registry: SchemaRegistry) => Promise<T>): Promise<T> {
    try {
      return await withinDeadline(question(client), options.deadlineMs, () => {
        // The client would hand the request that never settles to everybody who asks the same; a new one forgets it.
        client = newClient();
        return noAnswer(what);
      });
    } catch (error) {
      throw registryError({ error, what, address });
    }
  }

  const noAnswer = (what: string): Error =>
    contractsError(
      'REGISTRY_UNAVAILABLE',
      `the schema registry at ${address} did not answer within ${options.deadlineMs} ms (${what})`,
      { registry: address },
    );

  return {
    async typeOf(schemaId) {
      const found = await ask(`schema ${schemaId}`, (registry) =>
        registry.getSchema(schemaId).catch(undefinedIfMissing),
      );
      if (found === undefined) return undefined;
      if (found instanceof avro.Type) return found;
      throw contractsError('NOT_DECODABLE', `schema ${schemaId} is not an Avro schema`, { schemaId });
    },

    newestIdOf: (subject) =>
      ask(`the newest schema of ${subject}`, (registry) =>
        registry.getLatestSchemaId(subject).catch(undefinedIfMissing),
      ),

    register: ({ subject, schemaText, compatibility }) =>
      ask(`registering ${subject}`, (registry) =>
        register(registry, { subject, schemaText, level: LEVELS[compatibility], triesLeft: REGISTER_TRIES_MAX }),
      ),
  };
}

interface Registration {
  readonly subject: string;
  readonly schemaText: string;
  readonly level: COMPATIBILITY;
  readonly triesLeft: number;
}

/**
 * The client registers in three requests: ask for the subject's level, register, set the level where there was none.
 * It insists on the level it is given, but a level that somebody chose for the subject wins here; and of two programs
 * that register the same at once, the later one to set the level is refused, and finds it set when it tries again.
 */
async function register(registry: SchemaRegistry, registration: Registration): Promise<number> {
  const { subject, schemaText, level, triesLeft } = registration;
  try {
    const schema = { type: SchemaType.AVRO, schema: schemaText } as const;
    return (await registry.register(schema, { subject, compatibility: level })).id;
  } catch (error) {
    const inForce = levelInForce(error) ?? (isLevelConflict(error) ? level : undefined);
    if (inForce === undefined || triesLeft <= 1) throw error;
    return register(registry, { ...registration, level: inForce, triesLeft: triesLeft - 1 });
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (statusOf(error) !== 404) throw error;
  return undefined;
}

/** The client never settles when a connection is cut in the middle of an answer. */
async function withinDeadline<T>(answer: Promise<T>, deadlineMs: number, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), deadlineMs);
  });
  try {
    return await Promise.race([answer, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
