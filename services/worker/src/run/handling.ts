/** What the parts of handling records share: what goes in, what may interrupt, how it ends. */
import type { Codec } from '@tidemark/contracts';
import type { Handler } from '@tidemark/handlers';
import type { JobDefinition } from '@tidemark/jobs';
import type { Offset } from '@tidemark/keyspace';
import type { LogRecord } from '@tidemark/log';
import type { Logger } from '@tidemark/observability';
import type { Clock } from '../clock.ts';
import type { DeadLetter } from '../dead-letters/dead-letter-record.ts';
import type { DeadLetters } from '../dead-letters/dead-letters.ts';
import type { HandlerSet } from '../handlers/handler-set.ts';
import type { HeldRange } from '../lease/held-range.ts';
import type { WorkerMetrics } from '../worker-metrics.ts';
import type { AttemptScope } from './attempt.ts';
import type { AttemptPolicy } from './attempt-policy.ts';
import type { Settlement } from './settlement.ts';

export type RunEnding =
  | { readonly kind: 'complete' }
  /** What the handler or its decoding needs is down. */
  | { readonly kind: 'unavailable'; readonly dependency: string; readonly message: string }
  /** Only the records that must be dead-lettered are held up by it. */
  | { readonly kind: 'dead letters refused'; readonly dependency: string; readonly message: string }
  /** A record should be parked, and there is no room. */
  | { readonly kind: 'parked full' }
  /** A record used up its attempts, and the job is to be suspended then. */
  | { readonly kind: 'exhausted'; readonly offset: Offset; readonly message: string }
  | { readonly kind: 'fenced'; readonly seen: string }
  | { readonly kind: 'stopped' }
  | { readonly kind: 'let go' };

/** Where the ends of records are written down: the settled prefix of a chunk, or a batch of parked records. */
export interface Settlements {
  /** Indexes of records that are not settled, in offset order. */
  openIndexes(): number[];
  settle(index: number, settlement: Settlement): void;
  /** Another attempt in place begins. */
  addRetry(index: number): void;
}

export interface RunOptions {
  readonly job: JobDefinition;
  readonly partition: number;
  readonly handler: Handler;
  readonly scope: AttemptScope;
  readonly records: readonly LogRecord[];
  readonly settlements: Settlements;
  readonly policy: AttemptPolicy;
  /** The decoded value of each record for `avro` handlers; undefined for `raw` ones, who get the value itself. */
  readonly payloads: readonly unknown[] | undefined;
  readonly sendDeadLetters: (letters: readonly DeadLetter[]) => Promise<void>;
  readonly signals: RunSignals;
  /**
   * How long from now the lease is trusted, 0 = not. Asked right before the handler is called: after a stop of the process
   * (SIGSTOP, a busy event loop) answers of the network come before the timer that would abort `letGo`.
   */
  readonly trustLeftMs: () => number;
  /** Records that one call may get at most. */
  readonly recordsMax: () => number;
  /** A call of the handler kept the event loop for this long. */
  readonly onSpent: (call: { readonly records: number; readonly ms: number }) => void;
  readonly metrics: WorkerMetrics | undefined;
}

export interface RunSignals {
  /** Start no further record. */
  readonly stop: AbortSignal;
  /** The grace is over: abort what runs and do not wait for it. */
  readonly abandon: AbortSignal;
  /** The range is not ours any more: the same, at once. */
  readonly letGo: AbortSignal;
}

/** What stays the same for all that is handled of one held range. */
export interface Handling extends Pick<RunOptions, 'job' | 'handler' | 'scope' | 'signals' | 'recordsMax'> {
  readonly held: HeldRange;
  readonly handlers: HandlerSet;
  readonly codec: Codec;
  readonly deadLetters: DeadLetters;
  readonly onSpent: RunOptions['onSpent'];
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: WorkerMetrics | undefined;
}
