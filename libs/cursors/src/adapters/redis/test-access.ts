/** A plain second connection for tests: looks at the server, disturbs it, and takes away what a test wrote. */
import { Redis } from 'ioredis';

export interface TestAccess {
  command(name: string, ...args: readonly string[]): Promise<unknown>;
  /** One field of INFO, e.g. `infoField('memory', 'used_memory')`; undefined when it is not there. */
  infoField(section: string, name: string): Promise<string | undefined>;
  close(): void;
}

/** For calls that are to come to an answer: a loaded machine stands still for longer than a worker would try. */
export const PATIENT_MS = 120_000;

/** Of random histories: some twenty thousand calls one after the other, each of which waits its turn on a loaded machine. */
export const HISTORIES_TIMEOUT_MS = 900_000;

const SCAN_COUNT = '1000';

export function createTestAccess(url: string): TestAccess {
  const redis = new Redis(url, { maxRetriesPerRequest: null });
  redis.on('error', () => {}); // tests kill the server on purpose
  const command = (name: string, ...args: readonly string[]): Promise<unknown> => redis.call(name, ...args);
  return {
    command,
    async infoField(section, name) {
      const info = String(await command('INFO', section));
      return info
        .split('\r\n')
        .find((line) => line.startsWith(`${name}:`))
        ?.slice(name.length + 1);
    },
    close: () => redis.disconnect(),
  };
}

/** State keys carry no expiry, so whoever wrote to a shared Redis removes what is left. */
export async function removeNamespace(url: string, namespace: string): Promise<void> {
  const access = createTestAccess(url);
  try {
    let cursor = '0';
    do {
      const [next, keys] = (await access.command('SCAN', cursor, 'MATCH', `${namespace}:*`, 'COUNT', SCAN_COUNT)) as [
        string,
        string[],
      ];
      for (const key of keys) await access.command('DEL', key);
      cursor = next;
    } while (cursor !== '0');
  } finally {
    access.close();
  }
}
