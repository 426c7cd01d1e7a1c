/** Which records of its window a job is about; all others are counted as filtered. Pure, and the same for worker and audit. */
import type { RecordHeaders } from '@tidemark/log';
import { type DeadLetterFacts, deadLetterFacts, placeText } from './dead-letter.ts';
import type { JobDefinition } from './definition.ts';
import { isDeadLetterTopic } from './topics.ts';

interface Judged {
  readonly offset: bigint;
  readonly timestampMs: bigint;
  readonly headers: RecordHeaders;
}

type Belongs = (record: Judged) => boolean;

/** Parameters of a job over a dead-letter topic that say which letters it is about. */
export const LetterParameter = {
  job: 'letters.job',
  faultClass: 'letters.class',
  /** A letter that was dead-lettered so often, or more often, is left where it is. */
  roundsMax: 'letters.rounds',
  /**
   * Of records with several letters the offset of the one that counts: `PARTITION:OFFSET=OFFSET,…`, with nothing after the `=` where
   * none does. Where a topic was created again a place is that of two records, so there may be two: `…=OFFSET+OFFSET`.
   */
  newest: 'letters.newest',
  /** Only letters of the topic with this id: of one that was deleted and created again since they name other records. */
  topicId: 'letters.topic-id',
} as const;

/** Undefined when every record belongs, so that nobody asks for each of them. */
export function belongingTo(job: Pick<JobDefinition, 'topic' | 'fromMs' | 'toMs' | 'parameters'>): Belongs | undefined {
  const inTime = timeFilterOf(job);
  const isAsked = isDeadLetterTopic(job.topic) ? letterFilterOf(job.parameters) : undefined;
  if (inTime === undefined || isAsked === undefined) return inTime ?? isAsked;
  return (record) => inTime(record) && isAsked(record);
}

function timeFilterOf({ fromMs, toMs }: Pick<JobDefinition, 'fromMs' | 'toMs'>): Belongs | undefined {
  if (fromMs === null && toMs === null) return undefined;
  const from = fromMs === null ? undefined : BigInt(fromMs);
  const to = toMs === null ? undefined : BigInt(toMs);
  return ({ timestampMs }) => (from === undefined || timestampMs >= from) && (to === undefined || timestampMs < to);
}

function letterFilterOf(parameters: JobDefinition['parameters']): Belongs {
  const fateOf = letterFates(parameters);
  return ({ headers, offset }) => {
    const letter = deadLetterFacts(headers);
    return letter === undefined ? isUnfiltered(parameters) : fateOf(letter, offset) === LetterFate.taken;
  };
}

/** What a job over dead letters does with one of them. */
export const LetterFate = {
  taken: 'taken',
  /** Of another job or class of faults. */
  notAsked: 'not asked for',
  /** It holds no record that could be handed over. */
  pointer: 'pointer',
  tooOften: 'dead-lettered too often',
  formerTopic: 'of a former topic',
  /** Of the record there is another letter that counts: of a later round, or a corrected copy. */
  replaced: 'replaced',
} as const;
export type LetterFate = (typeof LetterFate)[keyof typeof LetterFate];

/**
 * Is the record of a letter to be left alone from here on? Asked of all its letters: one of another job or class tells of a
 * round, too.
 */
export function isTooOften(
  parameters: JobDefinition['parameters'],
): (letter: Pick<DeadLetterFacts, 'round'>) => boolean {
  const roundsMax = Number(parameters[LetterParameter.roundsMax] ?? Number.POSITIVE_INFINITY);
  return ({ round }) => round >= roundsMax;
}

/** By the parameters of the job, which are read once; `offset` is that of the letter. */
export function letterFates(
  parameters: JobDefinition['parameters'],
): (letter: DeadLetterFacts, offset: bigint) => LetterFate {
  const job = parameters[LetterParameter.job];
  const faultClass = parameters[LetterParameter.faultClass];
  const isOver = isTooOften(parameters);
  const topicId = parameters[LetterParameter.topicId];
  const newest = readNewest(parameters[LetterParameter.newest]);
  return (letter, offset) => {
    if (job !== undefined && letter.jobId !== job) return LetterFate.notAsked;
    if (faultClass !== undefined && letter.faultClass !== faultClass) return LetterFate.notAsked;
    if (letter.form === 'pointer') return LetterFate.pointer;
    if (isOver(letter)) return LetterFate.tooOften;
    if (topicId !== undefined && (letter.topicId ?? topicId) !== topicId) return LetterFate.formerTopic;
    // All letters of a record are in one partition.
    const counts = newest?.get(placeText(letter.origin));
    return counts === undefined || counts.includes(String(offset)) ? LetterFate.taken : LetterFate.replaced;
  };
}

function readNewest(text: string | undefined): ReadonlyMap<string, readonly string[]> | undefined {
  const entries = text?.split(',').map((entry) => entry.split('='));
  return entries && new Map(entries.map(([place = '', offsets = '']) => [place, offsets.split('+')]));
}

/** By the place of a record, as `placeText` writes it. */
export function newestText(newest: ReadonlyMap<string, readonly bigint[]>): string {
  return [...newest].map(([place, offsets]) => `${place}=${offsets.join('+')}`).join(',');
}

/** Topics of others may end in the same word; their records are no letters of ours, and whoever asks for some does not mean them. */
function isUnfiltered(parameters: JobDefinition['parameters']): boolean {
  return Object.values(LetterParameter).every((name) => parameters[name] === undefined);
}
