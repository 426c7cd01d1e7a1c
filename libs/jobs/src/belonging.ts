/** Which records of its window a job is about; all others are counted as filtered. Pure, and the same for worker and audit. */
import type { RecordHeaders } from '@tidemark/log';
import { type DeadLetterFacts, deadLetterFacts } from './dead-letter.ts';
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
  return ({ headers }) => {
    const letter = deadLetterFacts(headers);
    return letter === undefined ? isUnfiltered(parameters) : letter.form !== 'pointer' && isAsked(letter, parameters);
  };
}

function isAsked({ jobId, faultClass, round }: DeadLetterFacts, parameters: JobDefinition['parameters']): boolean {
  const job = parameters[LetterParameter.job];
  const wanted = parameters[LetterParameter.faultClass];
  const roundsMax = Number(parameters[LetterParameter.roundsMax] ?? Number.POSITIVE_INFINITY);
  return (job === undefined || job === jobId) && (wanted === undefined || wanted === faultClass) && round < roundsMax;
}

/** Topics of others may end in the same word; their records are no letters of ours, and whoever asks for some does not mean them. */
function isUnfiltered(parameters: JobDefinition['parameters']): boolean {
  return Object.values(LetterParameter).every((name) => parameters[name] === undefined);
}
