/**
 * What a worker needs to know of a running job: the request with its window resolved. Kept as JSON text in the cursor
 * store, where it is a copy of what `job-state` says.
 */
import type { JobState } from '@tidemark/contracts';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { parseWindow } from './window-grammar.ts';

export const Ordering = { none: 'none', partition: 'partition', key: 'key' } as const;
export type Ordering = (typeof Ordering)[keyof typeof Ordering];

export const OnLost = { stop: 'stop', skip: 'skip' } as const;
export type OnLost = (typeof OnLost)[keyof typeof OnLost];

/** What becomes of a record whose attempts are used up. */
export const OnExhausted = { deadLetter: 'dead letter', suspend: 'suspend' } as const;
export type OnExhausted = (typeof OnExhausted)[keyof typeof OnExhausted];

export interface JobDefinition {
  readonly formatVersion: number;
  readonly jobId: string;
  readonly topic: string;
  readonly topicId: string;
  readonly handler: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly ordering: Ordering;
  readonly chunkRecords: number;
  readonly chunkBytes: number;
  /** Ranges worked on at the same time, over all workers; 0 = as many as there are. */
  readonly concurrency: number;
  /** Records a second, over all workers; 0 = no limit. */
  readonly rate: number;
  /** Handler attempts per record before `onExhausted` says what becomes of it. */
  readonly attempts: number;
  readonly onExhausted: OnExhausted;
  /** Records of one range that may wait for a later attempt while the cursor goes on; 0 = every attempt in place. */
  readonly parkedMax: number;
  readonly onLost: OnLost;
  readonly acceptDuplicates: boolean;
  /** Records with a timestamp outside `[fromMs, toMs)` are counted as filtered and not handled; null = no bound. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

const FORMAT_VERSION = 2;

export function encodeDefinition(definition: Omit<JobDefinition, 'formatVersion'>): string {
  return JSON.stringify({ formatVersion: FORMAT_VERSION, ...definition });
}

/**
 * The text for a job that was pinned: only from its durable state, so that a rebuilt store gets the same. A state whose
 * pin or window is unusable cannot have been written by us: TidemarkError `bug` (UNUSABLE_JOB_STATE).
 */
export function definitionOf(state: JobState): string {
  const { request, pin } = state;
  const window = parseWindow(request);
  if (pin === null || window.kind === 'refused') {
    throw new TidemarkError({
      code: 'UNUSABLE_JOB_STATE',
      class: ErrorClass.bug,
      message: `job ${state.jobId} is stored as ${state.state} ${pin === null ? 'without a pin' : `with the window ${request.from} to ${request.to}`}`,
    });
  }
  const { from, to } = window.spec;
  return encodeDefinition({
    jobId: state.jobId,
    topic: request.topic,
    topicId: pin.topicId,
    handler: request.handler,
    parameters: request.parameters,
    ordering: wordOf(Ordering, request.ordering) ?? Ordering.partition,
    chunkRecords: request.chunkRecords,
    chunkBytes: request.chunkBytes,
    concurrency: request.concurrency,
    rate: request.rate,
    attempts: request.attempts,
    onExhausted: wordOf(OnExhausted, request.onExhausted) ?? OnExhausted.deadLetter,
    parkedMax: request.parkedMax,
    onLost: wordOf(OnLost, request.onLost) ?? OnLost.stop,
    acceptDuplicates: request.acceptDuplicates,
    fromMs: from.kind === 'instant' ? from.ms : null,
    toMs: to.kind === 'instant' ? to.ms : null,
  });
}

/** The word as a member of a closed set, or undefined. */
export function wordOf<Word extends string>(words: Readonly<Record<string, Word>>, text: string): Word | undefined {
  return Object.values(words).find((word) => word === text);
}

/**
 * What format 1 does not say. The distributor that wrote it knows nothing of parked records: one that it checkpoints would be
 * lost with the store, so nothing may be parked under it.
 */
const ADDED_IN_FORMAT_2: Pick<JobDefinition, 'rate' | 'onExhausted' | 'parkedMax'> = {
  rate: 0,
  onExhausted: OnExhausted.deadLetter,
  parkedMax: 0,
};

/** Throws TidemarkError `config` (NEWER_JOB_FORMAT) for a job that a newer distributor installed. */
export function decodeDefinition(text: string): JobDefinition {
  const definition: JobDefinition = { ...ADDED_IN_FORMAT_2, ...(JSON.parse(text) as JobDefinition) };
  if (definition.formatVersion > FORMAT_VERSION) {
    throw new TidemarkError({
      code: 'NEWER_JOB_FORMAT',
      class: ErrorClass.config,
      message: `job ${definition.jobId} is in format ${definition.formatVersion}, this program knows up to ${FORMAT_VERSION}: update the worker`,
    });
  }
  return definition;
}
