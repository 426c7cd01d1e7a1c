/**
 * What happened in one simulation, in the order in which it took effect: the only thing that the auditor sees. Calls are
 * written down where they act (at the store, at the log), not where they are sent, so lost replies are in it and refused
 * calls are not.
 */
import type { JobState, RangeCheckpoint } from '@tidemark/contracts';
import type { CursorStore, FloorLook, FloorPlace, JobMode, RangeState } from '@tidemark/cursors';

/** What the log holds at an offset when everything is over. */
export interface OffsetTruth {
  kind: 'record' | 'marker' | 'aborted' | 'compacted' | 'open';
  readonly key: string | null;
  readonly timestampMs: number;
}

/** What the handler does with a record in the end, however often it is asked. */
export type Fate = 'done' | 'skip' | 'dead letter';

/** What a job asks for, as far as the auditor judges by it. */
export interface JobFacts {
  readonly jobId: string;
  readonly topic: string;
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
  readonly ordering: 'none' | 'partition' | 'key';
  readonly chunkRecords: number;
  readonly onLost: 'stop' | 'skip';
  readonly fateOf: (partition: number, offset: bigint) => Fate;
}

type StoreOperation =
  | 'lease'
  | 'renew'
  | 'claim'
  | 'advance'
  | 'settle'
  | 'release'
  | 'stop'
  | 'split'
  | 'install'
  | 'setMode'
  | 'remove';

/** One call on the cursor store with its answer, undefined when it threw. */
export type StoreCall = {
  [Operation in StoreOperation]: {
    readonly operation: Operation;
    readonly request: Parameters<CursorStore[Operation]>[0];
    readonly answer: Awaited<ReturnType<CursorStore[Operation]>> | undefined;
  };
}[StoreOperation];

export interface JobLook {
  readonly epoch: bigint;
  readonly mode: JobMode;
  readonly ranges: readonly RangeState[];
}

export interface Delivery {
  readonly jobId: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly rangeId: string;
  readonly token: string;
  readonly attempt: number;
  /** The call of the handler: a batch hands over several records in one. */
  readonly call: number;
}

export type Happening =
  /** The request is acknowledged; every record below these high watermarks was acknowledged before. */
  | { readonly kind: 'requested'; readonly jobId: string; readonly highWatermarks: readonly bigint[] }
  | { readonly kind: 'commanded'; readonly jobId: string; readonly command: string }
  /** Records of our own topics became visible together. */
  | {
      readonly kind: 'durable';
      readonly states: readonly JobState[];
      readonly checkpoints: readonly RangeCheckpoint[];
      /** By job id, of the topic at that moment. */
      readonly highWatermarks: ReadonlyMap<string, readonly bigint[]>;
      readonly logStarts: ReadonlyMap<string, readonly bigint[]>;
    }
  /** `look` is the job right after the call; undefined when the store does not hold it. */
  | { readonly kind: 'stored'; readonly call: StoreCall; readonly look: JobLook | undefined }
  | { readonly kind: 'store lost'; readonly how: string }
  | { readonly kind: 'floors'; readonly place: FloorPlace; readonly look: FloorLook | undefined }
  | ({ readonly kind: 'delivered' } & Delivery)
  | ({ readonly kind: 'answered'; readonly outcome: 'done' | 'skip' } & Delivery)
  | { readonly kind: 'dead letter'; readonly jobId: string; readonly partition: number; readonly offset: bigint }
  /** Records below the offset are gone. */
  | {
      readonly kind: 'cut';
      readonly who: 'guard' | 'stranger';
      readonly topic: string;
      readonly partition: number;
      readonly before: bigint;
    }
  | {
      readonly kind: 'process';
      readonly what: 'started' | 'killed' | 'stopped' | 'went on' | 'asked to end' | 'ended' | 'failed';
      readonly why: string;
    }
  /** From here on nothing goes wrong any more. */
  | { readonly kind: 'calm' };

export type HistoryEvent = Happening & { readonly atMs: number; readonly by: string };

export interface History {
  readonly jobs: ReadonlyMap<string, JobFacts>;
  /** By topic, partition and offset. */
  readonly logs: ReadonlyMap<string, readonly (readonly OffsetTruth[])[]>;
  readonly events: readonly HistoryEvent[];
  /** No call was refused, lost or late by itself. */
  readonly linksAreGood: boolean;
  readonly ended: 'reached' | 'out of time' | 'idle';
}
