/** The answers of the API, each described once: the types of the code, and the schemas of the OpenAPI document. */
import { z } from '@tidemark/observability';
import { letterTopics } from './letter-schemas.ts';
import { digits, instant, unknown } from './schema-words.ts';
import { seriesList } from './series-schemas.ts';

const seconds = z.number().describe('Seconds');
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
