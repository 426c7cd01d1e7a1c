/** The answers of the API, each described once: the types of the code, and the schemas of the OpenAPI document. */
import { z } from '@tidemark/observability';
import { REASON_CHARACTERS_MAX, ROUNDS_MAX_DEFAULT } from '../limits.ts';

const digits = z
  .string()
  .regex(/^-?\d+$/)
  .describe('A whole number of 64 bits as text: JSON readers round numbers.');
const instant = z.iso.datetime().describe('UTC');
const seconds = z.number().describe('Seconds');
/** Why a part is not known now; null when it is. */
const unknown = z.string().nullable().describe('Why this part is not known now; null when it is.');

export const counters = z.object({
  ok: digits,
  skipped: digits,
  deadLettered: digits,
  filtered: digits,
  markers: digits,
  compacted: digits,
  lost: digits,
  parked: digits.describe('Passed and not settled yet.'),
  retries: digits.describe('Attempts beyond the first.'),
  chunks: digits.describe('Chunks handled to their end.'),
  maybeRedelivered: digits,
});

export const progress = z.object({
  offsetsTotal: digits,
  offsetsDone: digits,
  percent: z.number().min(0).max(100),
  perSecond: z.number().nullable().describe('Offsets a second over the last ten seconds; null while nobody knows.'),
  etaSeconds: z.number().nullable().describe('Null while nothing moves.'),
});

/** Offsets of a window by what is known of them; they add up to its size. */
export const share = z.object({ settled: digits, parked: digits, inFlight: digits, waiting: digits, stopped: digits });

export const rangeCounts = z.object({
  total: z.int(),
  done: z.int(),
  working: z.int(),
  waiting: z.int(),
  expired: z.int().describe('Their owner has not renewed the lease.'),
  stopped: z.int(),
});

export const waiting = z
  .object({
    kind: z
      .string()
      .describe(
        'person, distributor, chunks in flight, no worker, no handler, handler not idempotent, permit, rate, breaker, open transaction, broker, backoff, parked records, takeover, turn, other',
      ),
    reason: z.string().describe('What follows "waits for". May hold words of a handler.'),
    seconds: seconds.nullable().describe('For how long; null when nobody knows.'),
  })
  .nullable()
  .describe('Null: it waits for nothing, or nobody can say now.');

export const budget = z.array(
  z.object({
    name: z.string().describe('seconds, chunks, failures, dead letters'),
    used: digits,
    max: digits.nullable().describe('Null: no limit.'),
    isUsedUp: z.boolean(),
  }),
);

export const job = z.object({
  jobId: z.string(),
  state: z.string(),
  reason: z.string(),
  verdict: z
    .string()
    .describe(
      'requested, running, stopping, paused, suspended, clean, with faults, does not add up, cancelled, unrecoverable, refused',
    ),
  isActive: z.boolean(),
  topic: z.string(),
  handler: z.string(),
  from: z.string(),
  to: z.string(),
  note: z.string(),
  requestedBy: z.string(),
  requestedAt: instant,
  pinnedAt: instant.nullable(),
  updatedAt: instant,
  progress: progress.nullable(),
  share: share.nullable(),
  ranges: rangeCounts.nullable(),
  parked: digits.nullable().describe('Records that wait for another attempt; null while nobody knows.'),
  retries: digits.nullable(),
  budget: budget.nullable().describe('What is used of each limit; null while nobody knows.'),
  waiting,
  hint: z.string().describe('What an operator can do about it; empty when there is nothing.'),
});
export type Job = z.output<typeof job>;

export const range = z.object({
  partition: z.int(),
  start: digits.describe('Excluded.'),
  cursor: digits,
  horizon: digits
    .nullable()
    .describe('The highest offset that was handed to a handler; null when only checkpoints tell.'),
  end: digits.describe('Included.'),
  status: z.string().describe('done, working, waiting, lease expired, stopped'),
  owner: z.string(),
  leaseSecondsLeft: seconds.nullable(),
  note: z.string(),
  waiting,
  parked: z.object({
    records: z.int(),
    lowest: digits.nullable(),
    nextDueSeconds: seconds.nullable().describe('Until the next attempt.'),
  }),
  perSecond: z.number().nullable(),
  counters,
  addsUp: z.boolean(),
});
export type Range = z.output<typeof range>;

const interval = z.object({ partition: z.int(), first: digits, last: digits });

export const jobDetail = job.extend({
  topicId: z.string().nullable(),
  series: z.string().nullable().describe('Of which it is a run.'),
  deadLettersOf: z
    .string()
    .describe('The topic under which its dead letters are found: its own, or that of the letters which it hands over.'),
  unsentKeys: digits.describe('Keys that waited unsent in the outbox at the pin; their rows are not in the window.'),
  unsent: z
    .array(z.object({ key: z.string(), position: digits, reason: z.string() }))
    .describe('The first of them, with the position of the row that could not be sent.'),
  heldForAudit: z
    .object({ until: instant.nullable().describe('Null: its time begins when the job has ended.') })
    .nullable()
    .describe('The log keeps the whole window for an audit; null: it does not, or not any more.'),
  releasedFloors: z.array(z.string()).describe('What a guard gave up of what is held for the job: a sentence each.'),
  parameters: z.record(z.string(), z.string()),
  settings: z.object({
    ordering: z.string(),
    chunkRecords: z.int(),
    concurrency: z.int().describe('Ranges worked on at the same time; 0 = as many as there are.'),
    rate: z.int().describe('Records a second; 0 = no limit.'),
    rangesPerPartition: z.int(),
    priority: z.int(),
    attempts: z.int(),
    parkedMax: z.int(),
    onExhausted: z.string(),
    onLost: z.string(),
  }),
  window: z.array(
    z.object({ partition: z.int(), start: digits, end: digits, settledUpTo: digits.nullable(), clamped: z.string() }),
  ),
  source: z.string().describe('Where the ranges are from: store, checkpoints, none'),
  rangeRows: z.array(range),
  rangesOmitted: z.int(),
  identity: z
    .object({ span: digits, counted: digits, addsUp: z.boolean(), counters })
    .nullable()
    .describe('span = ok + skipped + deadLettered + filtered + markers + compacted + lost + parked'),
  lost: z.array(interval),
  lostOmitted: z.int(),
  lostUnplaced: digits.describe('Lost offsets that were only counted: nobody kept which they were.'),
});
export type JobDetail = z.output<typeof jobDetail>;

export const jobs = z.object({
  asOf: instant,
  unknown,
  counts: z.record(z.string(), z.int()).describe('Jobs by state, those that are not listed included.'),
  jobs: z.array(job),
  omitted: z.int(),
});
export type Jobs = z.output<typeof jobs>;

export const lagRow = z.object({
  topic: z.string(),
  partition: z.int(),
  jobId: z.string(),
  isActive: z.boolean().describe('False: no job is under way; the cursor is where the last complete one ended.'),
  state: z
    .string()
    .describe('caught up, behind, records removed, cursor ahead of the log, topic missing, topic recreated, unknown'),
  logStart: digits.nullable(),
  cursor: digits.nullable().describe('Everything up to here is settled; null while nobody tells.'),
  end: digits.describe('The pinned end of the job.'),
  lastStableOffset: digits.nullable(),
  highWatermark: digits.nullable(),
  lagOffsets: digits.nullable(),
  isAtLeast: z.boolean().describe('The cursor of some active job is not known here, so both lags may be larger.'),
  lagSeconds: seconds.nullable().describe('Age of the oldest record that is not settled.'),
});
export type LagRow = z.output<typeof lagRow>;

export const lag = z.object({
  asOf: instant,
  unknown,
  rows: z.array(lagRow),
  rowsOmitted: z.int(),
  jobsOmitted: z.int().describe('Active jobs whose cursors are not asked for because there are too many; the oldest.'),
  sum: z.object({
    offsets: digits.nullable(),
    isAtLeast: z.boolean().describe('Some partition or job is unknown.'),
    seconds: seconds.nullable(),
    secondsIsAtLeast: z.boolean(),
  }),
});
export type Lag = z.output<typeof lag>;

export const worker = z.object({
  workerId: z.string(),
  host: z.string(),
  pid: z.int(),
  state: z.string().describe('alive, silent'),
  seenSecondsAgo: seconds,
  handlers: z.array(z.object({ name: z.string(), idempotent: z.boolean() })),
  ranges: z.int().describe('Leases that it holds.'),
});

export const workers = z.object({ asOf: instant, unknown, alive: z.int().nullable(), workers: z.array(worker) });
export type Workers = z.output<typeof workers>;

export const relay = z.object({
  asOf: instant,
  unknown,
  relay: z.string(),
  state: z.string().describe('publishing, caught up, nobody publishes, no outbox, unknown'),
  publisher: z.string().nullable(),
  publishedAt: instant.nullable(),
  snapshot: z.string().nullable(),
  partitionCounts: z.record(z.string(), z.int()),
  backlogRows: z.int().nullable(),
  backlogIsAtLeast: z.boolean(),
  lagSeconds: seconds.nullable(),
  blockers: z.array(
    z.object({
      name: z.string(),
      application: z.string(),
      user: z.string(),
      state: z.string(),
      openSeconds: seconds,
    }),
  ),
  parked: z
    .array(
      z.object({
        topic: z.string(),
        key: z.string(),
        position: digits,
        table: z.string().describe('Empty when the row was published by hand.'),
        bytes: digits,
        rows: z.int().describe('That wait, with the first, which cannot be sent.'),
        reason: z.string(),
        parkedAt: instant,
        triedAt: instant,
      }),
    )
    .describe('Keys of which nothing is sent, because their first row cannot be.'),
  parkedOmitted: z.int(),
  hint: z.string(),
});
export type Relay = z.output<typeof relay>;

export const retentionRow = z.object({
  topic: z.string(),
  partition: z.int(),
  state: z.string().describe('held, free, records removed, not filled, unknown'),
  logStart: digits.nullable(),
  mark: digits.nullable().describe('Below it nothing is promised to anybody any more.'),
  floor: digits
    .nullable()
    .describe('The lowest offset that somebody still needs; null when nobody does or nobody knows.'),
  holders: z.array(z.object({ holder: z.string(), floor: digits, isReservation: z.boolean() })),
  holdersOmitted: z.int(),
  highWatermark: digits.nullable(),
  heldOffsets: digits.nullable().describe('From the floor to the end of the log.'),
  margin: digits.nullable().describe('From the log start to the floor; negative when records were removed.'),
});
export type RetentionRow = z.output<typeof retentionRow>;

export const retention = z.object({
  asOf: instant,
  unknown,
  rows: z.array(retentionRow),
  rowsOmitted: z.int(),
});
export type Retention = z.output<typeof retention>;

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

const reason = z.string().trim().min(1).max(REASON_CHARACTERS_MAX).describe('Why, for the audit trail.');

export const seriesOrder = z.object({ order: z.enum(['run', 'resume', 'delete']), reason });

/** What became of an order. */
export const outcome = z.object({
  result: z.string().describe('applied, unanswered'),
  text: z.string(),
  jobId: z.string().nullable().describe('Of a job that it led to.'),
});

export const session = z.object({
  role: z.string().describe('viewer, operator'),
  name: z.string().nullable(),
  hasOperators: z.boolean().describe('Whether anybody can be one here.'),
});
export type Session = z.output<typeof session>;

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
export const redriveWish = z.object({
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
  z.object({ text: z.string() }),
  z.object({ base64: z.base64() }),
  z.object({ json: z.string().describe('Encoded with the newest schema of the topic.') }),
  z.object({ tombstone: z.literal(true) }),
]);

export const letterEdit = z.object({
  value: given.optional(),
  key: z.object({ text: z.string() }).optional(),
  dryRun: z.boolean().default(false),
  reason,
});
export type LetterEdit = z.output<typeof letterEdit>;

export const service = z.object({
  name: z.string(),
  state: z.string().describe('up, down, unknown'),
  detail: z.string().describe('Why it counts as down; empty otherwise.'),
});
export type Service = z.output<typeof service>;

export const status = z.object({
  asOf: instant,
  namespace: z.string(),
  ready: z.boolean(),
  services: z.array(service),
  jobs: z.record(z.string(), z.int()).nullable().describe('Jobs by state.'),
  activeJobs: z.int().nullable(),
  workersAlive: z.int().nullable(),
  lagOffsets: digits.nullable(),
  lagIsAtLeast: z.boolean(),
  relayLagSeconds: seconds.nullable(),
});
export type Status = z.output<typeof status>;

/** What a page gets once a second. */
export const snapshot = z.object({
  status,
  jobs,
  lag,
  workers,
  relay,
  retention,
  series: seriesList,
  deadLetters: letterTopics,
});
export type Snapshot = z.output<typeof snapshot>;

export const fault = z.object({ error: z.string() });
