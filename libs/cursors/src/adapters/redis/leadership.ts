/** Who leads, in Redis. */
import { checkTtl } from '../../calls.ts';
import { leaderKey } from '../../keys.ts';
import type { Leadership } from '../../leadership.ts';
import { texts } from './install.ts';
import { scripts } from './scripts.ts';
import { connectServing, type RedisOptions } from './serving-node.ts';

/** Throws TidemarkError `unavailable` or `config`. */
export async function createRedisLeadership(options: RedisOptions): Promise<Leadership> {
  const connection = await connectServing(options);
  const keyOf = (role: string): string => leaderKey(options.namespace, role);
  return {
    async lead({ role, candidate, ttlMs }) {
      checkTtl(ttlMs);
      const answer = texts(await connection.run(scripts.leadershipLead, [keyOf(role)], [candidate, String(ttlMs)]));
      const [leader = '', remainingMs] = answer;
      return leader === candidate ? { kind: 'leading' } : { kind: 'led', leader, remainingMs: Number(remainingMs) };
    },
    async resign({ role, candidate }) {
      await connection.run(scripts.leadershipResign, [keyOf(role)], [candidate]);
    },
    close: async () => connection.close(),
  };
}
