/** Which records of its window a job is about; all others are counted as filtered. Pure, and the same for worker and audit. */
import type { RecordHeaders } from '@tidemark/log';
import { type DeadLetterFacts, deadLetterFacts, placeText } from './dead-letter.ts';
import type { JobDefinition } from './definition.ts';
import { isDeadLetterTopic } from './topics.ts';

interface Judged {
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
  /** Records that were corrected: `PARTITION:OFFSET=NUMBER,…`. Of each only the letters of that correction belong, of all others those of none. */
  edits: 'letters.edits',
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

/** A pointer holds no record that could be handed over. */
function letterFilterOf(parameters: JobDefinition['parameters']): Belongs {
  const isNewest = newestFilterOf(parameters[LetterParameter.edits]);
  return ({ headers }) => {
    const letter = deadLetterFacts(headers);
    return letter === undefined
      ? isUnfiltered(parameters)
      : letter.form !== 'pointer' && isAsked(letter, parameters) && isNewest(letter);
  };
}

function newestFilterOf(text: string | undefined): (letter: DeadLetterFacts) => boolean {
  if (text === undefined) return () => true;
  const edits = readEdits(text);
  return ({ origin, edit }) => edit === (edits.get(placeText(origin)) ?? 0);
}

function readEdits(text: string): ReadonlyMap<string, number> {
  const entries = text.split(',').map((entry) => entry.split('='));
  return new Map(entries.map(([place = '', number]) => [place, Number(number)]));
}

/** How often records were corrected, by `PARTITION:OFFSET`, as a parameter says it. */
export function editsText(edits: ReadonlyMap<string, number>): string {
  return [...edits].map(([place, number]) => `${place}=${number}`).join(',');
}

function isAsked(
  { jobId, faultClass, round, topicId }: DeadLetterFacts,
  parameters: JobDefinition['parameters'],
): boolean {
  const job = parameters[LetterParameter.job];
  const wanted = parameters[LetterParameter.faultClass];
  const roundsMax = Number(parameters[LetterParameter.roundsMax] ?? Number.POSITIVE_INFINITY);
  const asked = parameters[LetterParameter.topicId];
  return (
    (job === undefined || job === jobId) &&
    (wanted === undefined || wanted === faultClass) &&
    (asked === undefined || topicId === undefined || asked === topicId) &&
    round < roundsMax
  );
}

/** Topics of others may end in the same word; their records are no letters of ours, and whoever asks for some does not mean them. */
function isUnfiltered(parameters: JobDefinition['parameters']): boolean {
  return Object.values(LetterParameter).every((name) => parameters[name] === undefined);
}
