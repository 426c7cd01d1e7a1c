/** Where the real services are, and names that no other test uses. */
import { randomUUID } from 'node:crypto';
import { type Endpoints, endpoints } from '@tidemark/stack';

/** Addresses of the running stack: `kafka` is host:port, the others are URLs. */
export function services(): Endpoints {
  return endpoints();
}

/** What our programs read to find the services and their namespace; `at` names private services. */
export function environmentOf(namespace: string, at: Partial<Endpoints> = {}) {
  const { kafka, redis, postgres, registry } = { ...services(), ...at };
  return {
    TIDEMARK_KAFKA: kafka,
    TIDEMARK_REDIS: redis,
    TIDEMARK_POSTGRES: postgres,
    TIDEMARK_REGISTRY: registry,
    TIDEMARK_NAMESPACE: namespace,
  } as const;
}

/** For topics, groups, transactional ids: letters, digits and dashes. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomUUID().slice(0, 13)}`;
}

/** For schemas and namespaces, which a person may write without quotes: lower case, digits and underscores. */
export function uniqueNamespace(prefix: string): string {
  return `${prefix}_${randomUUID().slice(0, 13).replace('-', '_')}`.toLowerCase();
}
