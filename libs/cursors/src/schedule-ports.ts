/** The schedule: which job is next, who works, permits, rates, and what jobs wait for. Hints in the `{sched}` slot, never truth. */

/** Losing all of it delays work, nothing else. */
export interface Schedule {
  /** Jobs that may have claimable ranges, least recently served first (by priority first), marking them served. */
  propose(request: { readonly limit: number }): Promise<{
    readonly jobs: readonly { readonly jobId: string; readonly definition: string }[];
    /** How many jobs are listed altogether: whether others wait for their turn. */
    readonly listedCount: number;
  }>;
  /**
   * A permit to work on one range of a job: at most `jobMax` of them at the same time, and `allMax` over all jobs (0 = no
   * limit). It ends after `ttlMs` unless it is asked for again, which a slot that holds it always gets. A refusal is noted
   * as what the job waits for.
   */
  permit(request: {
    readonly jobId: string;
    readonly slot: string;
    readonly jobMax: number;
    readonly allMax: number;
    readonly ttlMs: number;
  }): Promise<{ readonly kind: 'granted' } | { readonly kind: 'full'; readonly scope: 'job' | 'all' }>;
  returnPermit(request: { readonly jobId: string; readonly slot: string }): Promise<void>;
  /**
   * Books `records` at a rate shared by all workers, and says how long from now to wait before they are handled (0 = now).
   * Generic cell rate algorithm: bookings follow one another at 1/perSecond, idle time gives no credit beyond one second.
   * A booking that would wait longer than `waitMsMax` (left out = a day) is not made, so nothing is owed for what a caller gives
   * up: it was made exactly when `waitMs` is not above it.
   */
  bookRate(request: {
    readonly bucket: string;
    readonly perSecond: number;
    readonly records: number;
    readonly waitMsMax?: number;
  }): Promise<{ readonly waitMs: number }>;
  /** Says what a job waits for although none of its ranges is held: `permit`, `breaker <dependency>`. */
  noteWaiting(request: { readonly jobId: string; readonly reason: string }): Promise<void>;
  /** What jobs were said to wait for, within the last half minute. */
  waiting(): Promise<ReadonlyMap<string, { readonly reason: string; readonly atMs: number }>>;
  /**
   * Says that these jobs are to be served before all others, for so long unless it is said again. Whoever lists jobs heeds it;
   * nobody else is to list one because of it.
   */
  hurry(request: { readonly jobIds: readonly string[]; readonly ttlMs: number }): Promise<void>;
  /** Of which jobs that is said now. */
  hurried(): Promise<ReadonlySet<string>>;
  enlist(job: { readonly jobId: string; readonly definition: string; readonly priority: number }): Promise<void>;
  withdraw(jobId: string): Promise<void>;
  /** The ids of all jobs on the list. */
  listed(): Promise<readonly string[]>;
  /** Workers announce themselves and their handlers every few seconds. */
  announce(worker: WorkerAnnouncement): Promise<void>;
  /** `atMs` is the store's clock at the announcement, `nowMs` its clock now. */
  workers(): Promise<{
    readonly nowMs: number;
    readonly workers: readonly (WorkerAnnouncement & { readonly atMs: number })[];
  }>;
  /** Wakes sleeping workers, or is lost: a slow poll is what correctness rests on. */
  wake(): Promise<void>;
  onWake(listener: () => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface WorkerAnnouncement {
  readonly workerId: string;
  readonly host: string;
  readonly pid: number;
  readonly handlers: readonly { readonly name: string; readonly idempotent: boolean }[];
  /** Ranges that it works on at the same time; left out by workers that do not tell yet. */
  readonly slots?: number;
}
