/**
 * One replica's part in who works: it asks to lead, goes on asking while it does, and waits while another one leads.
 *
 *              leading                         fenced, or a session failed
 *     waiting ─────────▶ leading (asks each third of the ttl) ─────────▶ waiting, after a rest
 *
 * The lease is a hint: it keeps a standby from fencing a distributor that works. The truth is in Kafka, where the younger
 * session fences the older one. *Race:* the hint is lost with the store, and a standby gets it while the former leader
 * works: that one is fenced at its next commit, resigns, and finds the other one leading. It cannot take the role back
 * before the other is silent, so the two do not take turns.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Leadership, LeadershipAnswer } from '@tidemark/cursors';
import { describeError, sleep } from '@tidemark/keyspace';
import type { Logger } from '@tidemark/observability';

export interface Candidacy {
  /** Once; from a positive answer on the role is held. Throws what the store throws. */
  ask(): Promise<LeadershipAnswer>;
  /** Resolves to true when this replica leads, to false when the signal is aborted. `onLed`: another one leads, for now. */
  awaitTurn(signal: AbortSignal, onLed: () => void): Promise<boolean>;
  /** Idempotent; a store that cannot be reached forgets by itself. */
  resign(): Promise<void>;
}

const ROLE = 'distributor.0';

export function createCandidacy(options: {
  readonly leadership: Leadership;
  readonly ttlMs: number;
  readonly logger: Logger;
}): Candidacy {
  const { leadership, ttlMs, logger } = options;
  const candidate = `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`;
  const everyMs = ttlMs / 3;
  let holding: AbortController | undefined;

  const hold = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await sleep(everyMs, signal);
      if (signal.aborted) return;
      // Whatever the answer is: whoever works goes on until it is fenced.
      const answer = await leadership.lead({ role: ROLE, candidate, ttlMs }).catch(() => undefined);
      if (answer?.kind === 'led') logger.debug({ leader: answer.leader }, 'distributor.lead_lost');
    }
  };
  const ask = async (): Promise<LeadershipAnswer> => {
    const answer = await leadership.lead({ role: ROLE, candidate, ttlMs });
    if (answer.kind === 'leading' && holding === undefined) {
      holding = new AbortController();
      void hold(holding.signal);
    }
    return answer;
  };

  return {
    ask,
    awaitTurn: async (signal, onLed) => {
      let leader: string | undefined;
      let isDown = false;
      while (!signal.aborted) {
        const answer = await ask().catch((error: unknown): undefined => {
          if (!isDown) logger.warn({ dependency: 'leadership', error: describeError(error) }, 'dependency.down');
          isDown = true;
        });
        if (answer !== undefined && isDown) {
          isDown = false;
          logger.info({ dependency: 'leadership' }, 'dependency.back');
        }
        if (answer?.kind === 'leading') return true;
        if (answer !== undefined && leader !== answer.leader) {
          logger.info({ leader: answer.leader }, 'distributor.standby');
          onLed();
        }
        leader = answer?.leader ?? leader;
        await sleep(Math.min(everyMs, answer?.remainingMs ?? everyMs), signal);
      }
      return false;
    },
    resign: async () => {
      holding?.abort();
      holding = undefined;
      await leadership.resign({ role: ROLE, candidate }).catch(() => undefined);
    },
  };
}
