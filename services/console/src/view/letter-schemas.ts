/** Dead letters and orders about them, as the API tells and takes them. */
import { z } from '@tidemark/observability';
import { ROUNDS_MAX_DEFAULT } from '../limits.ts';
import { digits, instant, reason, unknown } from './schema-words.ts';

export const letterTopics = z.object({
  asOf: instant,
  unknown,
  topics: z.array(
    z.object({
      topic: z.string().describe('Whose records the letters are of.'),
      letterTopic: z.string(),
      partitions: z.int(),
      offsets: digits.describe('As many letters at most.'),
    }),
  ),
  omitted: z.int().describe('Topics of older jobs that nobody was asked about.'),
});
export type LetterTopics = z.output<typeof letterTopics>;

const letterPlace = z.object({ partition: z.int(), offset: digits });
const safeInstant = instant.nullable().describe('Null for a time that is none.');
const partitionFaults = z
  .array(z.object({ partition: z.int(), reason: z.string() }))
  .describe('Partitions that cannot be read to their end now, and why.');

export const letterGroups = z.object({
  topic: z.string(),
  letterTopic: z.string().nullable().describe('Null: there is none, so there never was a dead letter.'),
  offsetsPassed: digits.describe('What was looked at so far.'),
  offsetsTotal: digits,
  groups: z
    .array(
      z.object({
        jobId: z.string(),
        handler: z.string(),
        faultClass: z.string(),
        error: z.string().describe('Without its numbers.'),
        letters: z.int(),
        edited: z.int().describe('Corrected copies among them.'),
        firstAt: safeInstant,
        lastAt: safeInstant,
        newest: letterPlace,
      }),
    )
    .describe('By job, handler and what went wrong; the largest first.'),
  groupsOmitted: z.int(),
  others: z.int().describe('Letters of yet other kinds, which are too many to be told apart.'),
  cutShort: partitionFaults,
});
export type LetterGroups = z.output<typeof letterGroups>;

const preview = z.object({
  kind: z.string().describe('none, text, json, avro, binary (then the text is base64)'),
  text: z.string(),
  bytes: z.int().describe('True size.'),
  isCut: z.boolean().describe('The text is only the beginning.'),
  isEscaped: z.boolean().describe('Characters that nobody sees are written out in it.'),
});
export type Preview = z.output<typeof preview>;

export const letterRow = z.object({
  partition: z.int(),
  offset: digits,
  at: safeInstant,
  jobId: z.string(),
  handler: z.string(),
  faultClass: z.string(),
  error: z.string(),
  round: z.number(),
  edit: z.number().describe('How often it was corrected.'),
  key: preview,
  value: preview,
});
export type LetterRow = z.output<typeof letterRow>;

export const letterPage = z.object({
  letterTopic: z.string().nullable(),
  letters: z.array(letterRow),
  offsetsPassed: digits,
  offsetsTotal: digits,
  next: z.string().nullable().describe('`from` of the next look; null at the end.'),
  cutShort: partitionFaults,
});
export type LetterPage = z.output<typeof letterPage>;

const header = z.object({ name: z.string(), value: preview });

export const letter = z.object({
  topic: z.string(),
  letterTopic: z.string(),
  partition: z.int(),
  offset: digits,
  at: safeInstant,
  origin: letterPlace.extend({ topic: z.string() }),
  originAt: safeInstant,
  jobId: z.string(),
  handler: z.string(),
  faultClass: z.string(),
  error: z.string(),
  attempt: z.number(),
  round: z.number(),
  form: z.string().describe('pointer: the record was too large, and only its place is here.'),
  edit: z.number(),
  edited: letterPlace
    .extend({ by: z.string(), note: z.string() })
    .nullable()
    .describe('Of a corrected copy: of which letter.'),
  key: preview,
  value: preview,
  schema: z.string().nullable().describe('By which the value was decoded.'),
  decodeFault: z.string().nullable().describe('Why the value is shown as its bytes.'),
  base64: z.object({ text: z.string(), isCut: z.boolean() }).nullable().describe('The bytes of the value.'),
  correctAs: z
    .enum(['text', 'json', 'base64'])
    .nullable()
    .describe(
      'How to give the value, changed in some place, so that the rest stays; null: there is none, or it is cut.',
    ),
  headers: z.array(header),
  headersOmitted: z.int(),
});
export type Letter = z.output<typeof letter>;

export const redrivePlan = z.object({
  handler: z.string(),
  letters: z.int().describe('Records that would be handed over, each once.'),
  edited: z.int(),
  byClass: z.record(z.string(), z.int()),
  byRound: z.record(z.string(), z.int()),
  left: z.array(z.string()).describe('What stays where it is, and why.'),
});
export type RedrivePlan = z.output<typeof redrivePlan>;

const int32 = z.coerce
  .number()
  .int()
  .max(2 ** 31 - 1);

/** Which letters, and to whom. */
export const redriveWish = z.strictObject({
  job: z.string().optional(),
  class: z.string().optional(),
  handler: z.string().optional(),
  rate: int32.min(0).default(0),
  maxRounds: int32.min(1).default(ROUNDS_MAX_DEFAULT),
  recreated: z.enum(['refuse', 'take', 'leave']).default('refuse'),
  acceptDuplicates: z.union([z.boolean(), z.stringbool()]).default(false),
});
export type RedriveWish = z.output<typeof redriveWish>;

export const redriveOrder = redriveWish.extend({
  id: z.string().optional().describe('Of the new job: the same wish with the same id is the same job.'),
  reason,
});

const given = z.union([
  z.strictObject({ text: z.string() }),
  z.strictObject({ base64: z.base64() }),
  z.strictObject({ json: z.string().describe('Encoded with the newest schema of the topic.') }),
  z.strictObject({ tombstone: z.literal(true) }),
]);

export const letterEdit = z.strictObject({
  value: given.optional(),
  key: z.strictObject({ text: z.string() }).optional(),
  dryRun: z.boolean().default(false),
  reason,
});
export type LetterEdit = z.output<typeof letterEdit>;
