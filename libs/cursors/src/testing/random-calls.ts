/**
 * Plays a random history on a cursor store: the same history can be played on any. Tokens are a function of the history, so
 * two stores that agree can be given the very same calls.
 */
import { type Offset, offsetMin, type RangeRef, toOffset } from '@tidemark/keyspace';
import type { CursorStore, LostInterval } from '../ports.ts';
import { OFFSET_MAX, SPAN, STARTS, type Step } from './random-steps.ts';
import { counts, installSample, parking, type SampleRange } from './sample-jobs.ts';

/** What a player of a history knows: as a real caller, only what it was told. */
export interface Player {
  play(step: Step): Promise<unknown>;
}

type StepOf<Kind extends Step['kind']> = Extract<Step, { readonly kind: Kind }>;
interface Answer {
  readonly kind: string;
}

export function createPlayer(
  store: CursorStore,
  job: { readonly jobId: string; readonly base: bigint; readonly epoch: bigint },
): Player {
  const { jobId, base } = job;
  let epoch = job.epoch;
  let sequence = 0n;
  const calls: (() => Promise<Answer>)[] = [];
  const tokens = new Map<bigint, string[]>();
  const cursors = new Map<bigint, Offset>();
  const parked = new Map<bigint, readonly Offset[]>();

  const refOf = (shift: bigint): RangeRef => ({ partition: 1, start: clamped(base + shift) });
  const fresh = (name: string) => {
    sequence += 1n;
    return { slot: name, sequence };
  };
  const issue = (call: () => Promise<Answer>): Promise<Answer> => {
    calls.push(call);
    return call();
  };
  const target = (at: { readonly slot: string; readonly range: bigint; readonly age: number }) => ({
    call: fresh(at.slot),
    jobId,
    range: refOf(at.range),
    token: tokens.get(at.range)?.at(-1 - at.age) ?? 'none',
  });

  const lease = async (at: StepOf<'lease'>): Promise<unknown> => {
    const call = fresh(at.slot);
    const answer = issue(() => store.lease({ call, jobId, range: refOf(at.range), leaseTtlMs: at.leaseTtlMs }));
    const granted = (await answer) as Awaited<ReturnType<CursorStore['lease']>>;
    if (granted.kind === 'granted') {
      tokens.set(at.range, [...(tokens.get(at.range) ?? []), granted.token]);
      cursors.set(at.range, granted.cursor);
      const records = await store.parked({ jobId, range: refOf(at.range) });
      parked.set(at.range, records?.map(({ offset }) => offset) ?? []);
    }
    return granted;
  };

  const advance = async (at: StepOf<'advance'>): Promise<unknown> => {
    const from = clamped((cursors.get(at.range) ?? base) + at.fromShift);
    const to = clamped(from + at.by);
    const passed = to > from ? to - from : 0n;
    const park = Array.from({ length: Number(passed) }, (_, index) => index)
      .filter((index) => (at.parkBits >> index) % 2 === 1)
      .map((index) => parking(from + 1n + BigInt(index), { delayMs: at.delayMs, keyHash: '00000000000000ff' }));
    const gone = Array.from({ length: Number(passed) }, (_, index) => index)
      .filter((index) => (at.lostBits >> index) % 2 === 1 && (at.parkBits >> index) % 2 === 0)
      .map((index) => toOffset(from + 1n + BigInt(index)));
    const [waiting, lost] = [BigInt(park.length), BigInt(gone.length)];
    const add = counts({ ok: passed - waiting - lost, parked: waiting, lost, retries: at.retries, chunks: 1n });
    const request = { ...target(at), from, to, add, park, passed: each(gone), leaseTtlMs: at.leaseTtlMs };
    const answer = await issue(() => store.advance(request));
    if (answer.kind === 'advanced') {
      cursors.set(at.range, to);
      parked.set(at.range, [...(parked.get(at.range) ?? []), ...park.map(({ offset }) => offset)]);
    }
    return answer;
  };

  const settle = async (at: StepOf<'settle'>): Promise<unknown> => {
    const known = parked.get(at.range) ?? [];
    const fated = (fate: string): Offset[] => known.filter((_, index) => at.fates[index] === fate);
    const gone = fated('lose');
    const settled = [...fated('settle'), ...gone, ...(at.stray ? [clamped(base + SPAN + 5n)] : [])];
    const again = fated('again').map((offset) => parking(offset, { attempt: 2, delayMs: at.delayMs }));
    const count = BigInt(settled.length);
    const lost = BigInt(gone.length);
    const add = counts({ deadLettered: count - lost, lost, parked: -count, retries: BigInt(again.length) });
    const passed = each(gone.toSorted((a, b) => (a < b ? -1 : 1)));
    const request = { ...target(at), settled, again, add, passed, leaseTtlMs: at.leaseTtlMs };
    const answer = await issue(() => store.settle(request));
    if (answer.kind === 'settled')
      parked.set(
        at.range,
        known.filter((offset) => !settled.includes(offset)),
      );
    return answer;
  };

  const install = async (at: StepOf<'install'>): Promise<unknown> => {
    epoch += at.epochShift;
    if (epoch < 0n) epoch = 0n;
    const ranges = at.progress.map(([done, above, waiting, lost], index): SampleRange => {
      const start = clamped(base + (STARTS[index] ?? 0n));
      const end = clamped(base + (at.progress[index + 1] === undefined ? SPAN : (STARTS[index + 1] ?? SPAN)));
      const cursor = offsetMin(clamped(start + done), end);
      const passed = Array.from({ length: Number(cursor - start) }, (_, i) => start + 1n + BigInt(i));
      return {
        partition: 1,
        start,
        cursor,
        horizon: clamped(cursor + above),
        note: index === 1 ? 'restored' : '',
        parked: passed.slice(0, Number(waiting)),
        passed: each(passed.slice(Number(waiting), Number(waiting + lost)).map(toOffset)),
      };
    });
    const ends = [{ partition: 1, end: clamped(base + SPAN) }];
    return installSample(store, { jobId, epoch, mode: at.mode, ends, ranges });
  };

  return {
    async play(at) {
      switch (at.kind) {
        case 'lease':
          return lease(at);
        case 'renew': {
          const request = { ...target(at), leaseTtlMs: at.leaseTtlMs, note: at.note };
          return issue(() => store.renew(request));
        }
        case 'claim': {
          const request = { ...target(at), upTo: clamped(base + at.upTo) };
          return issue(() => store.claim(request));
        }
        case 'advance':
          return advance(at);
        case 'settle':
          return settle(at);
        case 'release': {
          const request = { ...target(at), delayMs: at.delayMs, note: at.note, untouched: at.untouched };
          return issue(() => store.release(request));
        }
        case 'stop': {
          const lost = [{ first: clamped(base + 1n), last: clamped(base + 2n) }];
          const request = { ...target(at), note: 'lost', lost };
          return issue(() => store.stop(request));
        }
        case 'split': {
          const request = { jobId, range: refOf(at.range), at: clamped(base + at.at) };
          return issue(() => store.split(request));
        }
        case 'parked':
          return store.parked({ jobId, range: refOf(at.range) });
        case 'repeat':
          return calls.at(-1 - at.back)?.();
        case 'install':
          return install(at);
        case 'setMode':
          return store.setMode({ jobId, mode: at.mode });
        case 'candidates':
          return store.candidates({ jobId, limit: at.limit });
        case 'remove':
          return store.remove({ jobId });
      }
    },
  };
}

/** Each by itself, so that the store has something to merge. */
function each(offsets: readonly Offset[]): readonly LostInterval[] {
  return offsets.map((offset) => ({ first: offset, last: offset }));
}

function clamped(offset: bigint): Offset {
  return toOffset(offset < -1n ? -1n : offset > OFFSET_MAX ? OFFSET_MAX : offset);
}
