/** The jobs as Kafka holds them: requests and commands in, states and events out. */
import type {
  DistributorPosition,
  GuardView,
  JobCommand,
  JobEvent,
  JobRequested,
  JobState,
  LogWatch,
  RangeCheckpoint,
  SeriesOrder,
  SeriesState,
  StoreEpoch,
  TruncationMark,
} from '@tidemark/contracts';
import type { Offset, RangeRef } from '@tidemark/keyspace';
import type { CommandPlace } from './job-state.ts';

export interface JobsAndSeries {
  readonly states: ReadonlyMap<string, JobState>;
  /** By name. */
  readonly series: ReadonlyMap<string, SeriesState>;
}

/** What the CLI, the API and other services use. Reading needs no consumer group and changes nothing. */
export interface JobLog {
  /** Resolves when the request is durable; the distributor decides afterwards. */
  request(request: JobRequested): Promise<{ readonly partition: number; readonly offset: Offset }>;
  command(command: JobCommand): Promise<{ readonly partition: number; readonly offset: Offset }>;
  orderSeries(order: SeriesOrder): Promise<{ readonly partition: number; readonly offset: Offset }>;
  /** The newest state of every job, as of now. */
  states(): Promise<ReadonlyMap<string, JobState>>;
  /** The newest state of every series, by name, as of now. */
  series(): Promise<ReadonlyMap<string, SeriesState>>;
  /** Both, as of one moment: what one transaction changed of a series and its run is there together, or not at all. */
  jobsAndSeries(): Promise<JobsAndSeries>;
  /** The newest of every range of a job, as of now; none before its pin. */
  checkpoints(jobId: string): Promise<readonly RangeCheckpoint[]>;
  /**
   * Calls back with every newer state, beginning with all present ones, until the signal is aborted. Of a job that was removed
   * before the call nothing is heard, though the log still shows it.
   */
  follow(onState: (state: JobState) => void, signal: AbortSignal): Promise<void>;
  /** As `follow`, of series. */
  followSeries(onState: (state: SeriesState) => void, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** A record of the jobs topic as the distributor gets it. */
export type InboxContent =
  | { readonly kind: 'request'; readonly request: JobRequested }
  | { readonly kind: 'command'; readonly command: JobCommand }
  | { readonly kind: 'series'; readonly order: SeriesOrder }
  /** Nothing that a later version or another program could mean by it matters here: it goes to the dead letters. */
  | { readonly kind: 'malformed'; readonly code: string; readonly reason: string };

export interface InboxRecord {
  readonly place: CommandPlace;
  readonly content: InboxContent;
  /** As it was written, for the dead letter. */
  readonly raw: RawRecord;
}

export interface RawRecord {
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[];
}

export type InboxAnswer =
  /** `nextOffset` is where to go on; it may move without any record (transaction markers). */
  | { readonly kind: 'records'; readonly records: readonly InboxRecord[]; readonly nextOffset: Offset }
  /** Retention removed requests that nobody had looked at: `[first, last]`. */
  | { readonly kind: 'lost'; readonly first: Offset; readonly last: Offset; readonly nextOffset: Offset };

/** Requests and commands in the order of the log. Errors: `unavailable`; `config` when the topic is gone or went back. */
export interface JobInbox {
  /** Empty after `waitMs` without news, or when aborted. */
  next(request: { readonly from: Offset; readonly waitMs: number; readonly signal: AbortSignal }): Promise<InboxAnswer>;
  close(): Promise<void>;
}

/** Everything durable about jobs at one moment. */
export interface DurableJobs {
  readonly states: ReadonlyMap<string, JobState>;
  /** By name. */
  readonly series: ReadonlyMap<string, SeriesState>;
  /** Per job that has not ended: the record with the highest version of every range. */
  readonly checkpoints: ReadonlyMap<string, readonly RangeCheckpoint[]>;
  /** Per job that has ended: of which ranges there are checkpoints, so that they can be removed. */
  readonly endedRanges: ReadonlyMap<string, readonly RangeRef[]>;
  /** Of the jobs topic; undefined before the first request was applied. */
  readonly position: DistributorPosition | undefined;
  /** The youngest announcement that a store would be filled; undefined before the first. */
  readonly epoch: StoreEpoch | undefined;
}

/** What becomes visible together. */
export interface JournalEntry {
  readonly states?: readonly JobState[];
  readonly series?: readonly SeriesState[];
  readonly events?: readonly JobEvent[];
  readonly checkpoints?: readonly RangeCheckpoint[];
  /** Jobs that are forgotten: nothing is left of the state and of these checkpoints. */
  readonly removals?: readonly JobRemoval[];
  readonly deadLetters?: readonly DeadRequest[];
  /** Beside the marks: which store is filled from now on. */
  readonly store?: StoreEpoch;
  readonly position: DistributorPosition;
}

export interface JobRemoval {
  readonly jobId: string;
  /** All of which there are checkpoints. */
  readonly ranges: readonly RangeRef[];
}

export interface DeadRequest {
  readonly raw: RawRecord;
  readonly place: CommandPlace;
  readonly code: string;
  readonly reason: string;
}

/**
 * The one writer of job state and checkpoints. Opening it fences every older one, so what `load` reads can only be
 * changed through this journal. After an error of `commit` it is dead (`usable` is false) and the outcome is unknown:
 * open another and load again.
 */
export interface JobJournal {
  readonly usable: boolean;
  /** Reads up to the high watermark of now. TidemarkError `config` (NEWER_FORMAT) for records of a newer version. */
  load(signal: AbortSignal): Promise<DurableJobs>;
  /** TidemarkError `fenced` when a younger journal was opened; `data` when the broker refuses a record. */
  commit(entry: JournalEntry): Promise<void>;
  /**
   * The offset of the record, which is larger than that of any earlier epoch. It is *not* fenced by itself: whoever
   * fills a store with it commits once more in between, so that a younger distributor can only have a larger epoch.
   */
  writeEpoch(epoch: StoreEpoch): Promise<Offset>;
  close(): Promise<void>;
}

export interface DurableMarks {
  /** The highest mark of every partition of every topic incarnation; ask with `markOf`. */
  readonly marks: ReadonlyMap<string, TruncationMark>;
  /** The store that the distributor fills; in any other one floors mean nothing. Undefined before the first. */
  readonly store: StoreEpoch | undefined;
  /** What guards have seen of a partition that they did not do, as `marks` by `markKey`. */
  readonly watches: ReadonlyMap<string, LogWatch>;
  /** By topic, what the last cycles of a guard made of it; for people, nothing is decided by it. */
  readonly views: ReadonlyMap<string, GuardView>;
}

/** The marks as Kafka holds them: written before anything is cut, read when floors are filled anew. */
export interface MarkLog {
  /** Creates the topic, or checks its settings (TidemarkError `config`). */
  ensure(replicationFactor: number): Promise<void>;
  /**
   * As of now. TidemarkError `unavailable` when an open transaction holds it back for longer than that; by default for
   * longer than any transaction of ours can stay open.
   */
  load(options?: { readonly openTransactionWaitMs?: number }): Promise<DurableMarks>;
  /**
   * Fences every older session before it resolves, so that what a session writes was proposed after every acknowledged
   * write of an older one: the newest mark of a key is the highest. Propose only after this.
   */
  openSession(): Promise<MarkSession>;
  /** Written by whoever looked last, without fencing anybody. */
  tell(views: readonly GuardView[]): Promise<void>;
}

export interface MarkSession {
  /** Resolves when all of them are durable. TidemarkError `fenced` when another session was opened. */
  write(marks: readonly TruncationMark[]): Promise<void>;
  /** The same for what was seen: load after the session was opened, so that nothing of an older one is lost. */
  watch(watches: readonly LogWatch[]): Promise<void>;
  close(): Promise<void>;
}
