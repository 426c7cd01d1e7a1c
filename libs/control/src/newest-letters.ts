/** Of an edit: which letter counts for each record, and which of them have to be copied behind the correction. Pure. */
import { placeText } from '@tidemark/jobs';
import type { DeadLetter } from './dead-letters.ts';
import { EDIT_FOLLOWERS_BYTES_MAX, EDIT_FOLLOWERS_MAX } from './limits.ts';

interface NewestLetter {
  readonly edit: number;
  readonly offset: bigint;
  /** Of one that has to be copied behind. */
  readonly follower?: DeadLetter;
}

/** Of each record the letter that counts: the most corrected, and of those the last. Only followers are kept whole. */
export class NewestLetters {
  readonly #edited: DeadLetter;
  readonly #withKey: boolean;
  readonly #topicId: string | undefined;
  /** In the order of the log, by where the one that counts lies. */
  readonly #byRecord = new Map<string, NewestLetter>();
  followers = 0;
  bytes = 0;

  /**
   * `withKey`: also of records of its key. Under another key nothing has to wait for the copy. `topicId` is that of the topic as
   * it is now; a letter without one is taken for one of it, as by a redrive.
   */
  constructor(edited: DeadLetter, of: { readonly withKey: boolean; readonly topicId: string | undefined }) {
    this.#edited = edited;
    this.#withKey = of.withKey;
    this.#topicId = of.topicId;
  }

  get isTooMany(): boolean {
    return this.followers > EDIT_FOLLOWERS_MAX || this.bytes > EDIT_FOLLOWERS_BYTES_MAX;
  }

  add(letter: DeadLetter): void {
    const id = this.#idOf(letter);
    const known = this.#byRecord.get(id);
    const { edit, record } = letter;
    const isOfKey = this.#withKey && isOfOneKey(this.#edited, letter);
    // A record of the key that was corrected to have another one is none of it any more.
    if (known === undefined && !isOfKey && id !== this.#idOf(this.#edited)) return;
    if (known !== undefined && known.edit > edit) return;
    this.#count(known?.follower, -1);
    this.#byRecord.delete(id);
    // Its correction stands for the record itself, whatever else comes of it.
    const isBehind = id !== this.#idOf(this.#edited) && record.offset > this.#edited.record.offset;
    const follower = isOfKey && isBehind ? letter : undefined;
    this.#count(follower, 1);
    this.#byRecord.set(id, { edit, offset: record.offset, ...(follower && { follower }) });
  }

  /** A topic that was created again has other records at the same places. */
  #idOf({ topicId = this.#topicId, origin }: DeadLetter): string {
    return `${topicId}/${placeText(origin)}`;
  }

  #count(follower: DeadLetter | undefined, sign: 1 | -1): void {
    if (follower === undefined) return;
    this.followers += sign;
    this.bytes += sign * sizeOf(follower);
  }

  /** Where the letter lies that counts for the record of this one. */
  of(letter: DeadLetter): bigint {
    return this.#byRecord.get(this.#idOf(letter))?.offset ?? letter.record.offset;
  }

  behind(): readonly DeadLetter[] {
    return [...this.#byRecord.values()].flatMap(({ follower }) => (follower === undefined ? [] : [follower]));
  }
}

function sizeOf({ record: { key, value } }: DeadLetter): number {
  return (key?.length ?? 0) + (value?.length ?? 0);
}

/** Records without a key have no order among them. */
function isOfOneKey(a: DeadLetter, b: DeadLetter): boolean {
  return a.record.key !== null && isSame(a.record.key, b.record.key);
}

export function isSame(a: Buffer | null, b: Buffer | null): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}
