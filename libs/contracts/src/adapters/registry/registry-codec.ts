import { createCodecOver } from '../../codec.ts';
import { REGISTRY_DEADLINE_MS, REGISTRY_REQUEST_MS } from '../../limits.ts';
import type { Codec } from '../../ports.ts';
import type { SchemaStore } from '../../schema-store.ts';
import { parseRegistryAddress } from './registry-address.ts';
import type { RegistryStoreOptions } from './registry-store.ts';

export interface RegistryCodecOptions {
  /** The base of a Confluent-compatible API; user and password in the URL become basic authentication. */
  readonly registryUrl: string;
  readonly requestTimeoutMs?: number;
  /** All tries of one question together. */
  readonly deadlineMs?: number;
}

/** Makes no request by itself: the first record that needs the registry asks it. */
export function createCodec(options: RegistryCodecOptions): Codec {
  const { registryUrl, requestTimeoutMs = REGISTRY_REQUEST_MS, deadlineMs = REGISTRY_DEADLINE_MS } = options;
  return createCodecOver({
    store: storeOnDemand({ registry: parseRegistryAddress(registryUrl), requestTimeoutMs, deadlineMs }),
    nowMs: () => performance.now(),
  });
}

/** The client is loaded at the first question: a program that meets no such record starts without it. */
function storeOnDemand(options: RegistryStoreOptions): SchemaStore {
  let loaded: Promise<SchemaStore> | undefined;
  const store = (): Promise<SchemaStore> => {
    loaded ??= import('./registry-store.ts').then(({ createRegistryStore }) => createRegistryStore(options));
    return loaded;
  };
  return {
    typeOf: async (schemaId) => await (await store()).typeOf(schemaId),
    newestIdOf: async (subject) => await (await store()).newestIdOf(subject),
    register: async (registration) => await (await store()).register(registration),
  };
}
