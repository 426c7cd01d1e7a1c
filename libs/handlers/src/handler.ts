/**
 * What a user writes: a handler. It gets records in offset order of its chunk and says, for each, what came of it.
 *
 * At least once: after a crash the chunk in flight is handed over again, so an idempotent handler makes its effect
 * conditional (a unique key, a state check, a version). The window pins keys, not content: look at the live state.
 */
import type { Offset } from '@tidemark/keyspace';
import type { Verdict } from './verify.ts';

export type Outcome =
  | { readonly kind: 'done' }
  /** Nothing to do here, for a reason from a small set that the handler's author names ("recalled", "not found"). */
  | { readonly kind: 'skip'; readonly reason: string }
  /** The sink has seen a younger token of this range: this worker must let go. */
  | { readonly kind: 'fenced'; readonly seen: string };

const DONE: Outcome = { kind: 'done' };
export const done = (): Outcome => DONE;
export const skip = (reason: string): Outcome => ({ kind: 'skip', reason });
export const fenced = (seen: string): Outcome => ({ kind: 'fenced', seen });

export interface HandlerEvent<Payload> {
  readonly topic: string;
  /**
   * Of a topic that was deleted and created again offsets name other records, and its id is another one. Undefined only for a
   * dead letter that an older worker wrote.
   */
  readonly topicId: string | undefined;
  readonly partition: number;
  readonly offset: Offset;
  readonly timestampMs: bigint;
  /** Bytes as the producer wrote them. */
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: readonly (readonly [name: string, value: Buffer | null])[];
  /** The decoded value: for input `avro` the record (null for a tombstone), for `raw` the same as `value`. */
  readonly payload: Payload;
}

export interface HandlerContext {
  readonly jobId: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** Names the range: sinks that refuse older tokens keep the newest per (jobId, rangeId). */
  readonly rangeId: string;
  /** Fixed-width text; larger is younger within one (jobId, rangeId). */
  readonly token: string;
  /** 1 for the first attempt. It goes on counting when the record was parked; after a takeover in mid-chunk it starts again. */
  readonly attempt: number;
  /** Aborted when the attempt ran out of time, the lease cannot be trusted any more or the worker stops: start nothing new after it. */
  readonly signal: AbortSignal;
  readonly log: { info(message: string, fields?: object): void; warn(message: string, fields?: object): void };
}

/** Unique per record, stable over replays and redrives: `<topic>/<partition>/<offset>`. */
export function idempotencyKey(event: HandlerEvent<unknown>): string {
  return `${event.topic}/${event.partition}/${event.offset}`;
}

/** What a thrown error means: a bad record (`data`), a dependency that is down (`unavailable`), or worth another try. */
export type FaultClass = 'data' | 'unavailable' | 'transient';

interface HandlerBase {
  readonly name: string;
  readonly idempotent: boolean;
  /** Records of one chunk handled at the same time under ordering `none` or `key`. Default 1. */
  readonly concurrency?: number;
  /** Milliseconds one attempt may take before it counts as failed. Default 30 s. */
  readonly timeoutMs?: number;
  /** Records a second that all workers together hand to this handler, whatever the number of jobs. Without it: no limit. */
  readonly rate?: number;
  /** Without it: a TidemarkError says it itself, connection errors of Node are `unavailable`, the rest `transient`. */
  readonly classify?: (error: unknown) => FaultClass | undefined;
  /** Once per worker process, before the first record; what it opens is closed by `close`. */
  readonly open?: () => Promise<void>;
  readonly close?: () => Promise<void>;
}

type Handle<Payload> =
  | {
      readonly handle: (event: HandlerEvent<Payload>, context: HandlerContext) => Promise<Outcome> | Outcome;
      readonly handleBatch?: never;
      readonly batchRecordsMax?: never;
    }
  /** The chunk, or a part of it, at once; one outcome per event, or one for all. A throw fails all that was given. */
  | {
      readonly handleBatch: (
        events: readonly HandlerEvent<Payload>[],
        context: HandlerContext,
      ) => Promise<readonly Outcome[] | Outcome> | readonly Outcome[] | Outcome;
      readonly handle?: never;
      /** Records of one call at most; batches of a chunk follow one another. Without it: the whole chunk. */
      readonly batchRecordsMax?: number;
    };

export interface VerifyContext extends Pick<HandlerContext, 'jobId' | 'parameters' | 'log'> {
  /** Aborted when the audit is stopped or the answer has taken longer than `timeoutMs`. */
  readonly signal: AbortSignal;
}

/**
 * Looks and changes nothing. Gets records that a job has passed, in offset order and decoded as for `handle`, at most
 * `batchRecordsMax` (else 1,000) of one partition; answers with one verdict for each, in their order. It runs for several
 * partitions at the same time. What it throws makes its records unknown; the audit goes on with the next ones.
 */
export type Verify<Payload> = (
  events: readonly HandlerEvent<Payload>[],
  context: VerifyContext,
) => Promise<readonly Verdict[]> | readonly Verdict[];

interface Verifiable<Payload> {
  /** For audits: is the effect of each of these records there? Without it only the log can be compared with what was counted. */
  readonly verify?: Verify<Payload>;
}

export type RawHandler = HandlerBase & { readonly input: 'raw' } & Handle<Buffer | null> & Verifiable<Buffer | null>;
export type AvroHandler<Payload> = HandlerBase & { readonly input: 'avro' } & Handle<Payload | null> &
  Verifiable<Payload | null>;

/** Any handler, as the worker keeps it. */
export type Handler = RawHandler | AvroHandler<never>;
