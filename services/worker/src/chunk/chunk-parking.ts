/**
 * What becomes of the records of a chunk whose attempts fail: a few attempts in place, then they are parked, so that the
 * chunk goes on without them. Under ordering `key` the later records of a parked key are parked unhandled behind it. Under
 * ordering `partition`, or when nothing may be parked, all attempts are made in place.
 *
 * The parked set is bounded. A record that finds no room stays open and nothing new is started, until a retry has made
 * room. That could wait for ever if the set were full of records that lie above the open one, because those are not in the
 * store yet and cannot be retried; so the first open record goes on in place then:
 *
 *   offsets   10 11 12 13      room for two
 *   state      .  p  p  .      10 holds up the move that would store 11 and 12, and they hold up 10
 */
import type { Parking } from '@tidemark/cursors';
import { type JobDefinition, Ordering } from '@tidemark/jobs';
import { backoff } from '@tidemark/keyspace';
import type { LogRecord } from '@tidemark/log';
import type { PrefixMove } from '../lease/moves.ts';
import { ATTEMPT_BASE_MS, ATTEMPT_MAX_MS, IN_PLACE_ATTEMPTS, IN_PLACE_ATTEMPTS_AFTER_TIMEOUT } from '../limits.ts';
import { keyHashOf } from '../parked/key-hash.ts';
import { parkedDelayMs } from '../parked/parked-delay.ts';
import type { ParkedSet } from '../parked/parked-set.ts';
import type { AttemptPolicy, FailedAttempt } from '../run/attempt-policy.ts';
import { recordAt } from '../run/record-event.ts';
import type { SettledPrefix } from './settled-prefix.ts';

export interface ChunkParkingOptions {
  readonly job: Pick<JobDefinition, 'ordering' | 'attempts' | 'parkedMax'>;
  readonly parked: ParkedSet;
  readonly records: readonly LogRecord[];
  readonly prefix: SettledPrefix;
  readonly nowMs: () => number;
  readonly random: () => number;
}

export class ChunkParking implements AttemptPolicy {
  readonly #options: ChunkParkingOptions;
  readonly #isKeyed: boolean;
  readonly #mayPark: boolean;
  /** Records that found no room, with what was tried. */
  readonly #refused = new Map<number, FailedAttempt>();

  constructor(options: ChunkParkingOptions) {
    this.#options = options;
    const { ordering, parkedMax } = options.job;
    this.#isKeyed = ordering === Ordering.key;
    this.#mayPark = ordering !== Ordering.partition && parkedMax > 0;
  }

  get isWatching(): boolean {
    return (this.#isKeyed && this.#options.parked.size > 0) || this.#refused.size > 0;
  }

  start(index: number): 'start' | 'put aside' | 'full' {
    const refused = this.#refused.get(index);
    if (refused !== undefined) return this.#mustStay(index) ? 'start' : this.#park(index, refused);
    if (!this.#isKeyed || !this.#options.parked.holdsKey(this.#keyHash(index))) return 'start';
    return this.#park(index, { attempt: 0, faultClass: 'queued' });
  }

  attemptsBefore(index: number): number {
    return this.#refused.get(index)?.attempt ?? 0;
  }

  pauseMs(index: number, { attempt, faultClass }: FailedAttempt): number | undefined {
    const { job, random } = this.#options;
    if (attempt >= job.attempts) return undefined;
    const inPlace = faultClass === 'timeout' ? IN_PLACE_ATTEMPTS_AFTER_TIMEOUT : IN_PLACE_ATTEMPTS;
    if (!this.#mayPark || attempt < inPlace)
      return backoff({ baseMs: ATTEMPT_BASE_MS, maxMs: ATTEMPT_MAX_MS, attempt, random });
    return this.#mustStay(index) ? parkedDelayMs(attempt, random) : undefined;
  }

  putOff(index: number, failed: FailedAttempt): 'put aside' | 'full' | 'exhausted' {
    if (failed.attempt >= this.#options.job.attempts) return 'exhausted';
    const answer = this.#park(index, failed);
    if (answer === 'full') this.#refused.set(index, failed);
    return answer;
  }

  /** The store has accepted the move. */
  moved({ park }: PrefixMove): void {
    if (park.length > 0) this.#options.parked.moved(park);
  }

  #park(index: number, what: Pick<Parking, 'attempt' | 'faultClass'>): 'put aside' | 'full' {
    const { parked, prefix, job, records, random, nowMs } = this.#options;
    if (parked.size >= job.parkedMax) return 'full';
    const record = recordAt(records, index);
    const keyHash = this.#isKeyed ? this.#keyHash(index) : '';
    const delayMs = what.attempt === 0 ? 0 : parkedDelayMs(what.attempt, random);
    const parking = { ...what, offset: record.offset, keyHash, delayMs };
    if (prefix.park(index, parking)) parked.park(parking, nowMs());
    this.#refused.delete(index);
    return 'put aside';
  }

  /** No retry can make room for it. */
  #mustStay(index: number): boolean {
    const { parked, prefix, job } = this.#options;
    return parked.size >= job.parkedMax && parked.storedCount === 0 && prefix.prefixCount === index;
  }

  #keyHash(index: number): string {
    return keyHashOf(this.#options.records[index]?.key ?? null);
  }
}
