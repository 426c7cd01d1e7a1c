/** Series and orders to them, as the API tells and takes them. */
import { z } from '@tidemark/observability';
import { digits, instant, reason, unknown } from './schema-words.ts';

/** A run as its series shows it; its page has the rest. */
export const seriesRun = z.object({
  jobId: z.string(),
  number: digits,
  state: z.string(),
  verdict: z.string().describe('As of a job.'),
  reason: z.string(),
  isActive: z.boolean(),
  requestedAt: instant,
  updatedAt: instant.describe('When it ended, if it has.'),
  offsets: digits.nullable().describe('Of its window; null before the pin.'),
  window: z
    .array(z.object({ partition: z.int(), start: digits, end: digits }))
    .describe('Partitions in which it covers something; `start` is excluded, `end` included.'),
  skipped: digits
    .nullable()
    .describe(
      'Offsets between the run before and this one, which somebody removed; null when the run before is not known.',
    ),
});
export type SeriesRun = z.output<typeof seriesRun>;

export const series = z.object({
  series: z.string(),
  status: z.string().describe('ACTIVE, STOPPED, DELETED, REFUSED'),
  reason: z.string(),
  isKilled: z.boolean().describe('Stopped by the order that stopped everything, and not by a run: nothing is skipped.'),
  topic: z.string(),
  handler: z.string(),
  schedule: z.string(),
  runs: digits.describe('How many there were.'),
  liveRun: z.string().nullable(),
  lastRun: seriesRun.nullable().describe('The newest; null when there was none, or it is not known any more.'),
  nextDueAt: instant.nullable().describe('Null when it is not active.'),
  lastLookAt: instant.nullable().describe('When the newest window was fixed, also one that was empty and made no run.'),
  held: z
    .array(z.object({ partition: z.int(), offsets: digits }))
    .describe('What its floor keeps in the log, by partition: those that keep most.'),
  heldOmitted: z.int(),
  heldOffsets: digits.nullable().describe('In all partitions; null while nobody knows.'),
  heldIsAtLeast: z.boolean().describe('Some partition is unknown.'),
  faults: z.array(z.string()).describe('What a person should know, as sentences.'),
});
export type Series = z.output<typeof series>;

export const seriesList = z.object({ asOf: instant, unknown, series: z.array(series), omitted: z.int() });
export type SeriesList = z.output<typeof seriesList>;

export const seriesDetail = series.extend({
  topicId: z.string().nullable(),
  from: z.string().describe('Where its first run began.'),
  parameters: z.record(z.string(), z.string()),
  settings: z.object({
    ordering: z.string(),
    chunkRecords: z.int(),
    rate: z.int().describe('Records a second; 0 = no limit.'),
    attempts: z.int(),
    onExhausted: z.string(),
    onLost: z.string(),
  }),
  note: z.string(),
  requestedBy: z.string(),
  createdAt: instant,
  updatedAt: instant,
  partitions: z.array(
    z.object({
      partition: z.int(),
      state: z
        .string()
        .describe('held, not held, not filled, records removed, topic missing, topic recreated, unknown'),
      next: digits.describe('Where the next run begins.'),
      floor: digits.nullable().describe('As the store has it.'),
      logStart: digits.nullable(),
      highWatermark: digits.nullable(),
      heldOffsets: digits.nullable(),
    }),
  ),
  partitionsOmitted: z.int(),
  chain: z.array(seriesRun).describe('The newest runs first.'),
  chainOmitted: digits.describe('Older runs.'),
  orders: z.array(z.string()).describe('What can be ordered now: run, resume, delete'),
});
export type SeriesDetail = z.output<typeof seriesDetail>;

// Whoever asks for something knows its words: one that nobody knows may be a narrower wish, written in a wrong way.
export const seriesOrder = z.strictObject({ order: z.enum(['run', 'resume', 'delete']), reason });
