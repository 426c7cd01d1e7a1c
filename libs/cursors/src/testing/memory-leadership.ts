/** The hint of who leads as a value in memory; the contract suite holds it and the one in Redis together. */
import { checkTtl } from '../calls.ts';
import type { Leadership } from '../leadership.ts';

export function createMemoryLeadership(options: { readonly now: () => number }): Leadership {
  const leaders = new Map<string, { readonly candidate: string; readonly untilMs: number }>();
  return {
    async lead({ role, candidate, ttlMs }) {
      checkTtl(ttlMs);
      const nowMs = options.now();
      const present = leaders.get(role);
      if (present !== undefined && present.candidate !== candidate && present.untilMs > nowMs)
        return { kind: 'led', leader: present.candidate, remainingMs: present.untilMs - nowMs };
      leaders.set(role, { candidate, untilMs: nowMs + ttlMs });
      return { kind: 'leading' };
    },
    async resign({ role, candidate }) {
      if (leaders.get(role)?.candidate === candidate) leaders.delete(role);
    },
    close: async () => {},
  };
}
