/**
 * The cursor store: who works on which range, how far it is settled, and the counters, each moved by one atomic script.
 * The store is a fast copy. The truth is in Kafka (job-state, checkpoints): a store that lost or changed its
 * incarnation answers `incomplete` until the distributor has installed the jobs again.
 *
 * Every mutating call carries a CallId. Of every range the store remembers the last call that must not act twice (lease,
 * advance, settle, release, stop) with its answer, and gives the same answer to a repeat, so a caller whose reply was lost asks
 * again with the same CallId. A repeated renew or claim acts again, which changes nothing that matters; so a slot may renew
 * beside its other calls, but of those it makes one at a time.
 */
import type { Offset, OffsetInterval, RangeCounters, RangeRef, RangeStatus } from '@tidemark/keyspace';

export interface CallId {
  /** Worker and slot, never used again by another process: a sequence that starts anew under an old name meets old answers. */
  readonly slot: string;
  /** Grows with every new call of the slot; the same for a repeat. */
  readonly sequence: bigint;
}

/** Opaque fixed-width text `(store epoch, grant number)`; larger text is younger. Compare within one range only. */
export type FencingToken = string;

export type LostInterval = OffsetInterval<Offset>;

/** A record that the cursor has passed and that is not settled: it waits for its next attempt, and keeps the range open. */
export interface ParkedRecord {
  readonly offset: Offset;
  /** Attempts made; 0 = it waits behind an earlier record of its key. */
  readonly attempt: number;
  /** On the store's clock. */
  readonly dueAtMs: number;
  /** `transient`, `timeout` or `queued`; opaque to the store. */
  readonly faultClass: string;
  /** 16 hex digits under ordering `key`, else empty. */
  readonly keyHash: string;
}

/** A record to be parked, or parked again; due `delayMs` after the store has taken it in. */
export interface Parking extends Omit<ParkedRecord, 'dueAtMs'> {
  readonly delayMs: number;
}

/**
 * `running`; `draining`: what is being handled may be settled, nothing new may be leased or claimed; `halted`: nothing
 * of it is accepted any more but a lease that is given back.
 */
export const JobMode = { running: 'running', draining: 'draining', halted: 'halted' } as const;
export type JobMode = (typeof JobMode)[keyof typeof JobMode];

export interface RangeState extends RangeRef {
  /** Derived: where the next range starts, or the pinned end of the partition. */
  readonly end: Offset;
  readonly cursor: Offset;
  /** The highest offset any owner may have handed to a handler. */
  readonly horizon: Offset;
  readonly status: RangeStatus;
  /** Why it is stopped, or what its owner waits for; empty otherwise. */
  readonly note: string;
  /** Store clock, since when `note` is unchanged; 0 without a note. */
  readonly noteSinceMs: number;
  /** What a worker named when it stopped the range; in no counter. */
  readonly lost: readonly LostInterval[];
  /**
   * Lost offsets that the cursor has passed, or that were parked: each is one of `counters.lost`. In offset order, merged.
   * Fewer than counted when there were too many of them to be kept (`PASSED_INTERVALS_MAX`), or an older version counted them.
   */
  readonly passed: readonly LostInterval[];
  /** In offset order, all at or below the cursor. */
  readonly parked: readonly ParkedRecord[];
  readonly counters: RangeCounters;
  /** Empty when nobody holds the lease. */
  readonly owner: string;
  readonly token: FencingToken;
  readonly leaseUntilMs: number;
  readonly notBeforeMs: number;
  /** Raised by every script that changes the range. */
  readonly version: bigint;
}

/** What the distributor puts into the store: a new job, or a job as its newest checkpoints know it. */
export interface JobInstall {
  readonly jobId: string;
  /** Opaque to the store: what workers need to know of the job, as JSON text. */
  readonly definition: string;
  /** The Kafka offset of the record that was written before the store is filled: the leading part of all tokens. */
  readonly epoch: Offset;
  readonly incarnation: string;
  /** Left out = running. */
  readonly mode?: JobMode;
  /** The pinned end of every partition of the window. */
  readonly ends: readonly { readonly partition: number; readonly end: Offset }[];
  /** They tile the window. `horizon` is the highest known; tokens are drawn afresh. */
  readonly ranges: readonly Pick<
    RangeState,
    | 'partition'
    | 'start'
    | 'cursor'
    | 'horizon'
    | 'status'
    | 'note'
    | 'lost'
    | 'passed'
    | 'parked'
    | 'counters'
    | 'version'
  >[];
}

/** Answers that any call on a job may give. */
export type Refusal =
  /** The store is not (or no longer) filled for this job, or it is another incarnation. Wait for the distributor. */
  | { readonly kind: 'incomplete' }
  /** The job does not run (it drains, was halted, has ended). Let go. */
  | { readonly kind: 'not running' };

/** Somebody newer owns the range, or the lease was given up: drop the work, nothing of it is accepted. */
export interface Fenced {
  readonly kind: 'fenced';
}

export type LeaseAnswer =
  | {
      readonly kind: 'granted';
      readonly cursor: Offset;
      readonly horizon: Offset;
      readonly end: Offset;
      readonly token: FencingToken;
      /** How many records are parked; `parked` tells which. */
      readonly parkedCount: number;
    }
  | { readonly kind: 'busy'; readonly readyAtMs: number }
  | { readonly kind: 'closed'; readonly status: 'done' | 'stopped' }
  | Refusal;

export type ClaimAnswer =
  | { readonly kind: 'claimed'; readonly horizon: Offset; readonly end: Offset }
  | Fenced
  | Refusal;

export type AdvanceAnswer =
  /** `done` when the cursor is now exactly at `end` and nothing is parked; the lease is then given back by the same step. */
  | { readonly kind: 'advanced'; readonly end: Offset; readonly done: boolean }
  /** The stored cursor is not `from`. */
  | { readonly kind: 'cursor moved'; readonly cursor: Offset }
  /** `to` is not inside `(cursor, min(horizon, end)]`. */
  | { readonly kind: 'out of bounds'; readonly horizon: Offset; readonly end: Offset }
  | Fenced
  | Refusal;

export type SettleAnswer =
  /** `done` as for an advance. */
  | { readonly kind: 'settled'; readonly done: boolean }
  | { readonly kind: 'not parked'; readonly offset: Offset }
  | Fenced
  | Refusal;

export type SplitAnswer =
  | { readonly kind: 'split' }
  /**
   * `closed`: it has ended. `outside`: `at` is not above its start and below its end. `claimed`: `at` is below its horizon, or
   * not above its cursor. `full`: the job has as many ranges as a job may have.
   */
  | { readonly kind: 'refused'; readonly why: 'closed' | 'outside' | 'claimed' | 'full' }
  | Refusal;

export interface RangeCall {
  readonly call: CallId;
  readonly jobId: string;
  readonly range: RangeRef;
  readonly token: FencingToken;
}

export interface Candidate {
  readonly range: RangeRef;
  readonly readyAtMs: number;
}

export interface CursorStore {
  /**
   * Grants the lease when nobody holds a live one. Adds `horizon - cursor` to maybeRedelivered when a former owner may have
   * delivered beyond the cursor, and the number of parked records when it may have retried them without saying so (its lease
   * ran out, or the store was restored).
   */
  lease(request: {
    readonly call: CallId;
    readonly jobId: string;
    readonly range: RangeRef;
    readonly leaseTtlMs: number;
  }): Promise<LeaseAnswer>;
  renew(
    request: RangeCall & {
      readonly leaseTtlMs: number /** What the owner waits for; '' = working. */;
      readonly note: string;
    },
  ): Promise<{ readonly kind: 'renewed' } | Fenced | Refusal>;
  /** Raises the horizon to min(upTo, end), never lowers it: nothing above it may be handed to a handler. */
  claim(request: RangeCall & { readonly upTo: Offset }): Promise<ClaimAnswer>;
  /** Moves the cursor, adds the counters and parks what is not settled, in one step; renews the lease and clears the note. */
  advance(
    request: RangeCall & {
      readonly from: Offset;
      readonly to: Offset;
      readonly add: RangeCounters;
      /** Records in `(from, to]`, as many as `add.parked`. */
      readonly park: readonly Parking[];
      /** Which offsets of `(from, to]` are lost, in order: as many as `add.lost`. */
      readonly passed: readonly LostInterval[];
      readonly leaseTtlMs: number;
    },
  ): Promise<AdvanceAnswer>;
  /** Takes parked records out of the set (`add` says how they ended) or parks them again; renews the lease. */
  settle(
    request: RangeCall & {
      readonly settled: readonly Offset[];
      readonly again: readonly Parking[];
      /** Its identity terms sum up to 0: `parked` goes down by as many as the others go up. */
      readonly add: RangeCounters;
      /** Which of `settled` are lost, in order: as many as `add.lost`. */
      readonly passed: readonly LostInterval[];
      readonly leaseTtlMs: number;
    },
  ): Promise<SettleAnswer>;
  /**
   * The parked records of a range in offset order, due in so many ms (0 or less = now). For its owner, after the lease.
   * Undefined when the store does not hold the job completely.
   */
  parked(request: {
    readonly jobId: string;
    readonly range: RangeRef;
  }): Promise<readonly (Omit<ParkedRecord, 'dueAtMs'> & { readonly dueInMs: number })[] | undefined>;
  /** Gives the lease back; the range may be leased again after `delayMs`. A settled horizon (== cursor) costs no maybeRedelivered. */
  release(
    request: RangeCall & {
      readonly delayMs: number;
      readonly note: string /** True when nothing above the cursor was handed to a handler by this owner. */;
      readonly untouched: boolean;
    },
  ): Promise<{ readonly kind: 'released' } | Fenced | Refusal>;
  /** Ends the range where it is, with a reason and the lost intervals (may be none). */
  stop(
    request: RangeCall & { readonly note: string; readonly lost: readonly LostInterval[] },
  ): Promise<{ readonly kind: 'stopped' } | Fenced | Refusal>;

  /** Ranges of a job that could be leased now or soonest, by readiness; at most `limit`. A hint. */
  candidates(request: { readonly jobId: string; readonly limit: number }): Promise<readonly Candidate[]>;

  /** Idempotent for one epoch; refuses (`stale epoch`) when a younger epoch has installed the job. Ranges first, the incarnation last. */
  install(
    job: JobInstall,
  ): Promise<{ readonly kind: 'installed' } | { readonly kind: 'stale epoch'; readonly epoch: Offset }>;
  /**
   * Cuts a range above its horizon, also while its owner works: a new range `(at, end]` starts at `at`, and the old one ends
   * there (it still covers `at` itself, so `at` may be the horizon). Idempotent: a range that starts at `at` already is `split`.
   */
  split(request: { readonly jobId: string; readonly range: RangeRef; readonly at: Offset }): Promise<SplitAnswer>;
  /** Takes hold within one call of every worker. A halted job is not set to draining: that order came late. */
  setMode(request: { readonly jobId: string; readonly mode: JobMode }): Promise<void>;
  /** All ranges of a job in one atomic look; undefined when the store does not hold the job completely. */
  snapshot(
    jobId: string,
  ): Promise<{ readonly epoch: Offset; readonly mode: JobMode; readonly ranges: readonly RangeState[] } | undefined>;
  /**
   * With an epoch: unless the job was filled in under a younger one. Then somebody else has replaced the caller, and the job may be
   * one that the caller never heard of.
   */
  remove(request: { readonly jobId: string; readonly epoch?: Offset }): Promise<void>;

  /** Which life of the store this is (run id and replication id of the serving node). */
  incarnation(): Promise<string>;
  close(): Promise<void>;
}
