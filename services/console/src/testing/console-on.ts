/** A console on a namespace of a test, and what a client asks it. */
import { silentLogger } from '@tidemark/observability';
import { services } from '@tidemark/testkit';
import { type Console, startConsole } from '../console.ts';

export interface TestConsole extends Console {
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Response>;
  json(path: string): Promise<unknown>;
}

export async function consoleOn(
  namespace: string,
  more: { readonly kafka?: string; readonly redis?: string } = {},
): Promise<TestConsole> {
  const { kafka, redis, postgres, registry } = { ...services(), ...more };
  const running = await startConsole({
    kafka: [kafka],
    redisUrl: redis,
    postgresUrl: postgres,
    registryUrl: registry,
    namespace,
    port: 0,
    logger: silentLogger,
  });
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(new URL(path, running.url), { headers });
  return {
    ...running,
    get,
    async json(path) {
      const response = await get(path);
      if (!response.ok) throw new Error(`${path} answers ${response.status}: ${await response.text()}`);
      return response.json();
    },
  };
}
