/** What a window lacks: keys of its topic that wait in the outbox, because the relay could not send their first row. */
import type { Codec, Pin, RelayPosition } from '@tidemark/contracts';
import { newestRelayPosition } from '@tidemark/control';
import { isOutage } from '@tidemark/keyspace';
import type { LogCluster } from '@tidemark/log';
import type { Logger } from '@tidemark/observability';
import { POSITION_SETTLE_MS, UNSENT_LISTED_MAX, UNSENT_TEXT_MAX } from './limits.ts';

export type Unsent = Pick<Pin, 'unsentKeys' | 'unsent'>;

export const NOTHING_UNSENT: Unsent = { unsentKeys: 0n, unsent: [] };

/** In the order in which they were parked. */
export function unsentOf(position: RelayPosition | undefined, topic: string): Unsent {
  const keys = (position?.parked ?? []).filter((parked) => parked.topic === topic);
  const listed = keys.slice(0, UNSENT_LISTED_MAX).map((parked) => {
    const { key, reason } = parked;
    return { key: key.slice(0, UNSENT_TEXT_MAX), position: parked.position, reason: reason.slice(0, UNSENT_TEXT_MAX) };
  });
  return { unsentKeys: BigInt(keys.length), unsent: listed };
}

/**
 * To be asked before the ends are read: a key that is freed in between is then listed though its rows are in the window,
 * and none is missing. A request that came through the outbox came with, or after, the position that passed what was
 * committed before it.
 */
export async function readUnsent(
  parts: { readonly cluster: LogCluster; readonly codec: Codec; readonly namespace: string; readonly logger: Logger },
  topic: string,
): Promise<Unsent> {
  try {
    return unsentOf(await newestRelayPosition(parts, undefined, { settleMs: POSITION_SETTLE_MS }), topic);
  } catch (error) {
    if (isOutage(error)) throw error;
    // What the relay wrote is none of this job's business: a job is not refused for it.
    parts.logger.warn({ error, topic }, 'unsent.unknown');
    return NOTHING_UNSENT;
  }
}
