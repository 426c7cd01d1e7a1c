/** What follows for a held range from how a chunk, or a batch of parked records, ended. */
import { exhaustedNote } from '@tidemark/jobs';
import { assertNever } from '@tidemark/keyspace';
import type { HeldRange } from '../lease/held-range.ts';
import { EXHAUSTED_RELEASE_MS } from '../limits.ts';
import type { Breakers, Pass } from '../pace/breakers.ts';
import type { RunEnding } from '../run/handling.ts';
import type { RangeEnding } from './ending.ts';
import type { FencedRanges } from './fenced-ranges.ts';
import type { Waits } from './waits.ts';

export interface Concluding {
  readonly held: HeldRange;
  readonly handlerName: string;
  /** The handler was called: a run without a call tells nothing of what it needs. */
  readonly wasCalled: boolean;
  readonly waits: Waits;
  readonly breakers: Breakers;
  readonly fencedRanges: FencedRanges;
}

/** What was settled is with the store by now, but for a fenced ending. Undefined = go on. */
export async function conclude(
  ending: RunEnding,
  pass: Pass,
  { held, handlerName, wasCalled, waits, breakers, fencedRanges }: Concluding,
): Promise<RangeEnding | undefined> {
  if (ending.kind === 'complete' && wasCalled) breakers.completed(handlerName, pass);
  if (ending.kind === 'unavailable') breakers.failed(handlerName, pass, ending);
  if (held.isDone) return { kind: 'done' };
  if (held.ending !== undefined) return held.ending;
  switch (ending.kind) {
    case 'complete':
    case 'let go':
    case 'parked full':
    case 'unavailable':
      return undefined;
    case 'stopped':
      return await waits.release('shutdown');
    case 'dead letters refused':
      return await waits.outage(ending.dependency, ending.message);
    case 'exhausted': {
      const note = exhaustedNote(ending.offset, ending.message);
      return await waits.release('attempts used up', { delayMs: EXHAUSTED_RELEASE_MS, note });
    }
    case 'fenced': {
      // The sink knows a younger owner: what this one did since the last advance is not ours to settle. If the store knows no
      // younger one (it was rolled back), each lease draws the next token, until one is above what the sink has seen.
      const delayMs = fencedRanges.releaseDelayMs(held);
      const note = `fenced: the sink has seen ${ending.seen}`;
      return await waits.release('fenced by the sink', { delayMs, note, untouched: false });
    }
    default:
      return assertNever(ending);
  }
}
