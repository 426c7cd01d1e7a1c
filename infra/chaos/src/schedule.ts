/**
 * When which fault comes, from a seed. Faults of one track follow one another, so that what one of them does can be
 * measured; tracks run side by side. Pure.
 */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { chanceOf } from '@tidemark/testkit/chance';
import { LEAD_MS, TIMES_EACH_MIN } from './limits.ts';

export interface FaultKind {
  readonly kind: string;
  readonly track: string;
  /** What it takes with its recovery on a quiet machine: so much is kept free for it. */
  readonly seconds: number;
  /** A broken promise that the run must find: only when it is named. */
  readonly isPlanted?: boolean;
}

/** A kind by its name, with the type that its system gives it. */
export function faultOf<Kind extends string>(known: readonly { readonly kind: Kind }[], kind: string): Kind {
  const found = known.find((fault) => fault.kind === kind);
  if (found === undefined) throw new RangeError(`no fault of this system: ${kind}`);
  return found.kind;
}

export interface PlannedFault {
  readonly kind: string;
  readonly track: string;
  /** From the start of the run; later when the fault before it took longer than planned. */
  readonly atMs: number;
  /** Seeds every choice inside the fault: the victim, how far, how long. */
  readonly seed: number;
}

export interface PlanRequest {
  readonly kinds: readonly FaultKind[];
  readonly seed: number;
  readonly minutes: number;
}

/** Longer runs have more of everything instead of more rest. */
export function timesEach(minutes: number): number {
  return Math.max(TIMES_EACH_MIN, Math.floor(minutes));
}

/** In the order of time. Throws `config` (TOO_SHORT) when the faults do not fit into the minutes. */
export function planFaults({ kinds, seed, minutes }: PlanRequest): readonly PlannedFault[] {
  const chance = chanceOf(seed);
  const tracks = [...new Set(kinds.map(({ track }) => track))];
  const planned = tracks.flatMap((track) => {
    const each = kinds.filter((kind) => kind.track === track);
    const order = chance.shuffled(
      Array.from({ length: timesEach(minutes) }, () => each).flatMap((round) => chance.shuffled(round)),
    );
    const neededMs = order.reduce((sum, { seconds }) => sum + seconds * 1_000, LEAD_MS);
    const spareMs = minutes * 60_000 - neededMs;
    if (spareMs < 0) throw tooShort(track, minutes, neededMs);
    // The spare time is cut at random places, and the pieces lie before the faults.
    const cuts = order.map(() => chance.next() * spareMs).toSorted((a, b) => a - b);
    let busyMs = LEAD_MS;
    return order.map(({ kind, seconds }, place): PlannedFault => {
      const atMs = Math.round(busyMs + (cuts[place] ?? 0));
      busyMs += seconds * 1_000;
      return { kind, track, atMs, seed: chance.between(1, 2 ** 31 - 1) };
    });
  });
  return planned.toSorted((a, b) => a.atMs - b.atMs);
}

function tooShort(track: string, minutes: number, neededMs: number): TidemarkError {
  return new TidemarkError({
    code: 'TOO_SHORT',
    class: ErrorClass.config,
    message: `the faults ${track} take ${Math.ceil(neededMs / 1_000)} s, ${minutes} minutes do not hold them; give more minutes or fewer kinds (--faults)`,
  });
}
