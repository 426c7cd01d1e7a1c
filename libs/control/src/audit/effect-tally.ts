/** The effects of the records of one range, counted, and the first of each kind by name. Pure. */
import { assertNever } from '@tidemark/keyspace';
import type { LogRecord } from '@tidemark/log';
import { NAMED_EFFECTS_MAX } from '../limits.ts';
import type { RecordEffect } from './effects.ts';

/** Records are counted that were settled without a dead letter; those with one, and parked ones, only when they have an effect. */
export interface EffectCount {
  /** Different records with an effect. */
  readonly found: bigint;
  /** Those of them that have more than one. */
  readonly duplicates: bigint;
  /** Effects beyond the first of their record. */
  readonly repeated: bigint;
  readonly missing: bigint;
  /** Without an effect by a rule that still shows. */
  readonly noneDue: bigint;
  readonly unknown: bigint;
  /** Of those that are parked or have a dead letter: without an effect, and unknown. A letter may be older than the end of its record. */
  readonly excused: { readonly without: bigint; readonly unknown: bigint };
  readonly first: FirstEffects;
}

/** In offset order. */
interface FirstEffects {
  readonly duplicates: readonly bigint[];
  readonly missing: readonly bigint[];
  /** Records that follow one another for the same reason are one entry. */
  readonly unknown: readonly UnknownEffects[];
}

interface UnknownEffects {
  readonly first: bigint;
  readonly last: bigint;
  readonly reason: string;
}

export class EffectTally {
  readonly #isExcused: (offset: bigint) => boolean;
  readonly #count = { found: 0n, duplicates: 0n, repeated: 0n, missing: 0n, noneDue: 0n, unknown: 0n };
  readonly #excused = { without: 0n, unknown: 0n };
  readonly #duplicates: bigint[] = [];
  readonly #missing: bigint[] = [];
  readonly #unknown: UnknownEffects[] = [];
  /** Of the record just before. */
  #open: { first: bigint; last: bigint; reason: string } | undefined;

  /** Records that need not have an effect: they are parked, or have a dead letter. */
  constructor(isExcused: (offset: bigint) => boolean) {
    this.#isExcused = isExcused;
  }

  get count(): EffectCount {
    return {
      ...this.#count,
      excused: { ...this.#excused },
      first: { duplicates: this.#duplicates, missing: this.#missing, unknown: this.#unknown },
    };
  }

  /** `effects` has one entry for each record. */
  take(records: readonly LogRecord[], effects: readonly RecordEffect[]): void {
    for (const [index, { offset }] of records.entries()) {
      const effect = effects[index];
      if (effect === undefined) throw new RangeError(`no answer for record ${index} of ${records.length}`);
      if (effect.kind === 'found' || !this.#isExcused(offset)) this.#takeOne(offset, effect);
      else this.#excused[effect.kind === 'unknown' ? 'unknown' : 'without'] += 1n;
    }
  }

  #takeOne(offset: bigint, effect: RecordEffect): void {
    const count = this.#count;
    if (effect.kind !== 'unknown') this.#open = undefined;
    switch (effect.kind) {
      case 'found':
        count.found += 1n;
        if (effect.count > 1n) {
          count.duplicates += 1n;
          count.repeated += effect.count - 1n;
          name(this.#duplicates, offset);
        }
        break;
      case 'missing':
        count.missing += 1n;
        name(this.#missing, offset);
        break;
      case 'none due':
        count.noneDue += 1n;
        break;
      case 'unknown':
        count.unknown += 1n;
        this.#nameUnknown(offset, effect.reason);
        break;
      default:
        assertNever(effect);
    }
  }

  #nameUnknown(offset: bigint, reason: string): void {
    if (this.#open?.reason === reason) {
      this.#open.last = offset;
      return;
    }
    this.#open = { first: offset, last: offset, reason };
    name(this.#unknown, this.#open);
  }
}

function name<T>(list: T[], entry: T): void {
  if (list.length < NAMED_EFFECTS_MAX) list.push(entry);
}
