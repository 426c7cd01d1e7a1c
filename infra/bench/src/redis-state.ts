/** How much the keys of a namespace hold. */
import { Redis } from 'ioredis';

const SCAN_COUNT = '1000';

export async function redisStateOf(url: string, namespace: string): Promise<{ keys: number; bytes: number }> {
  const redis = new Redis(url);
  try {
    const keys = new Set<string>();
    let cursor = '0';
    do {
      const [next, found] = await redis.scan(cursor, 'MATCH', `${namespace}:*`, 'COUNT', SCAN_COUNT);
      for (const key of found) keys.add(key);
      cursor = next;
    } while (cursor !== '0');
    let bytes = 0;
    // All elements are looked at, not a sample.
    for (const key of keys) bytes += (await redis.memory('USAGE', key, 'SAMPLES', 0)) ?? 0;
    return { keys: keys.size, bytes };
  } finally {
    redis.disconnect();
  }
}
