/** What breaks a promise in the line of a run, as sentences. Pure. */
import { TIMES_EACH_MIN } from './limits.ts';

export interface Violations {
  readonly sentences: readonly string[];
  unless(holds: boolean, sentence: string): void;
}

/** `kinds` are the faults that were to happen: of those that came too seldom nothing is shown. */
export function beginVerdict(faults: Readonly<Record<string, number>>, kinds: readonly string[]): Violations {
  const sentences: string[] = [];
  const unless: Violations['unless'] = (holds, sentence) => {
    if (!holds) sentences.push(sentence);
  };
  for (const kind of kinds) {
    const times = faults[kind] ?? 0;
    unless(times >= TIMES_EACH_MIN, `${kind} happened ${times} times, ${TIMES_EACH_MIN} are needed to say anything`);
  }
  return { sentences, unless };
}
