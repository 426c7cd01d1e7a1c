/** A console on a namespace of a test, and what a client asks it. */
import { silentLogger } from '@tidemark/observability';
import { services } from '@tidemark/testkit';
import { type Console, startConsole } from '../console.ts';
import type { Operator } from '../http/roles.ts';

/** Who may change something on it. */
export const OPERATOR = { name: 'anna', token: 'a-token-of-anna-1' } as const;

export interface TestConsole extends Console {
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  json(path: string): Promise<unknown>;
  /** As an operator, unless the token says otherwise; null sends none. */
  post(path: string, body: object, token?: string | null): Promise<Response>;
}

export async function consoleOn(
  namespace: string,
  more: { readonly kafka?: string; readonly redis?: string; readonly operators?: readonly Operator[] } = {},
): Promise<TestConsole> {
  const { kafka, redis, postgres, registry, operators = [OPERATOR] } = { ...services(), ...more };
  const running = await startConsole({
    kafka: [kafka],
    redisUrl: redis,
    postgresUrl: postgres,
    registryUrl: registry,
    namespace,
    port: 0,
    operators,
    logger: silentLogger,
  });
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(new URL(path, running.url), { headers });
  return {
    ...running,
    get,
    post: (path, body, token = OPERATOR.token) =>
      fetch(new URL(path, running.url), {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify(body),
      }),
    async json(path) {
      const response = await get(path);
      if (!response.ok) throw new Error(`${path} answers ${response.status}: ${await response.text()}`);
      return response.json();
    },
  };
}
