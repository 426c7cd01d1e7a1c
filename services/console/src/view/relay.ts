/** The relay: who publishes, how far, and what waits: pure. */
import type { Sight } from '../collect/collector.ts';
import { knownValue } from '../collect/feed.ts';
import { PARKED_KEYS_SHOWN_MAX } from '../limits.ts';
import type { Relay } from './schemas.ts';
import { bounded, instant, reasonOf, secondsOf } from './words.ts';

export function relayView(sight: Sight, relay: string): Relay {
  const position = knownValue(sight.position);
  const facts = knownValue(sight.outbox);
  const installed = facts?.kind === 'installed' ? facts : undefined;
  const backlog = installed?.backlog;
  const { state, hint } = stateOf(sight);
  const parked = bounded(installed?.parked ?? [], PARKED_KEYS_SHOWN_MAX);
  return {
    asOf: instant(sight.nowMs),
    unknown: reasonOf(sight.outbox) ?? reasonOf(sight.position),
    relay,
    state,
    hint,
    publisher: installed?.publisher ?? null,
    publishedAt: position === undefined ? null : instant(position.atMs),
    snapshot: position?.snapshot ?? null,
    partitionCounts: { ...position?.partitionCounts },
    backlogRows: backlog?.rows ?? null,
    backlogIsAtLeast: backlog?.isAtLeast ?? false,
    // No row waits: no lag. Rows without an age would be none of ours.
    lagSeconds: backlog === undefined ? null : secondsOf(backlog.lagMs ?? 0),
    blockers: (installed?.blockers ?? []).map((blocker) => ({
      name: blocker.preparedAs === null ? `pid ${blocker.pid}` : `prepared transaction ${blocker.preparedAs}`,
      application: blocker.application,
      user: blocker.user,
      state: blocker.state,
      openSeconds: secondsOf(blocker.ageMs),
    })),
    parked: parked.rows.map((key) => ({
      topic: key.topic,
      key: key.key,
      position: key.position.toString(),
      table: key.table,
      bytes: key.bytes.toString(),
      rows: key.rows,
      reason: key.reason,
      parkedAt: instant(key.parkedAtMs),
      triedAt: instant(key.triedAtMs),
    })),
    parkedOmitted: parked.omitted,
  };
}

function stateOf({ outbox, position }: Sight): { readonly state: string; readonly hint: string } {
  if (outbox.kind === 'unknown') return { state: 'unknown', hint: '' };
  // The reason says what to do: install it, or grant a right.
  if (outbox.value.kind === 'unfit') return { state: 'no outbox', hint: outbox.value.reason };
  const { publisher, backlog, parked } = outbox.value;
  if (publisher === undefined) return { state: 'nobody publishes', hint: '"tidemark relay run" starts a relay.' };
  if (position.kind === 'unknown' || backlog === undefined) return { state: 'unknown', hint: '' };
  const hint =
    parked.length === 0
      ? ''
      : `Rows that cannot be sent keep the later rows of their keys waiting (${parked.length} of them below). They are tried again by themselves, or now with "tidemark relay retry".`;
  return { state: backlog.rows === 0 ? 'caught up' : 'publishing', hint };
}
