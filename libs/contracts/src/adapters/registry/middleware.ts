import type { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { NoRegistryAnswer } from './registry-errors.ts';

type Middleware = NonNullable<ConstructorParameters<typeof SchemaRegistry>[0]['middlewares']>[number];

/** Gives every request its timeout, and refuses a page that a proxy serves with status 200 in the registry's place. */
export function requestRules(requestTimeoutMs: number): Middleware {
  return () => ({
    prepareRequest: async (next) => (await next()).enhance({ timeout: requestTimeoutMs }),
    response: async (next) => {
      const response = await next();
      const body: unknown = response.data();
      if (typeof body !== 'object' || body === null)
        throw new NoRegistryAnswer(`status ${response.status()} without a JSON object`);
      return response;
    },
  });
}
