/** What a range says in its note while its owner waits, in words that worker, distributor and console share. */

const WAITING = 'waiting: ';

const OPEN_TRANSACTION = /\bopen transaction at (\d+)/;

/** The last stable offset that an open transaction holds below the end of the range. */
export function openTransactionNote(lastStableOffset: bigint): string {
  return `${WAITING}open transaction at ${lastStableOffset}`;
}

/** The offset of the open transaction that the note names; undefined when it says something else. */
export function openTransactionIn(note: string): bigint | undefined {
  const match = OPEN_TRANSACTION.exec(note);
  return match?.[1] === undefined ? undefined : BigInt(match[1]);
}

/** What else a range may wait for. Texts after `waiting: ` are shown as they are. */
export const waitingNote = {
  rate: `${WAITING}rate`,
  /** Everything up to the end is passed; parked records wait for their next attempt. */
  backoff: `${WAITING}backoff`,
  parkedFull: `${WAITING}too many parked records`,
  breaker: (dependency: string): string => `${WAITING}breaker ${dependency}`,
  /** Something does not answer that this range needs: `kafka`, or whatever refuses its dead letters. */
  outage: (dependency: string): string => `${WAITING}${dependency}`,
} as const;

/** What a job waits for while nobody holds a range of it, as the schedule keeps it: a note without its first word. */
export function hintOf(note: string): string {
  return note.startsWith(WAITING) ? note.slice(WAITING.length) : note;
}

export function noteOfHint(hint: string): string {
  return `${WAITING}${hint}`;
}

/** The name is a handler's, and may hold line breaks. */
const BREAKER = /^waiting: breaker (.+)$/s;

/** The dependency whose breaker is open; undefined when the note says something else. */
export function breakerIn(note: string): string | undefined {
  return BREAKER.exec(note)?.[1];
}

const EXHAUSTED = 'suspend: ';

/** A record used up its attempts, and the job wants to be suspended then (`onExhausted`). */
export function exhaustedNote(offset: bigint, reason: string): string {
  return `${EXHAUSTED}record ${offset} failed: ${reason}`;
}

export function exhaustedIn(note: string): string | undefined {
  return note.startsWith(EXHAUSTED) ? note.slice(EXHAUSTED.length) : undefined;
}
