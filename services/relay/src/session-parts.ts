/** What a session works with. */
import type { Codec } from '@tidemark/contracts';
import type { LogCluster, TransactionalWriter } from '@tidemark/log';
import type { Logger } from '@tidemark/observability';
import type { Outbox } from '@tidemark/outbox';
import type { Progress } from './batches.ts';
import type { Envelope } from './envelope.ts';
import type { Pace } from './pace.ts';
import type { RelayMetrics } from './relay-metrics.ts';
import type { RetryPace } from './retry-pace.ts';
import type { Suspects } from './suspects.ts';
import type { TopicDirectory } from './topics.ts';

export interface SessionParts {
  readonly outbox: Outbox;
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly namespace: string;
  readonly name: string;
  readonly envelope: Envelope;
  readonly pace: Pace;
  readonly logger: Logger;
  readonly metrics: RelayMetrics | undefined;
  /** Outlives sessions: what one found, the next one narrows down. */
  readonly suspects: Suspects;
  /** Outlives them, too. */
  readonly retryPace: RetryPace;
  /** The position is read (not stored = a first session begins), and nobody older can write any more. */
  onOpened(opened: { readonly progress: Progress; readonly isStored: boolean }): void;
  /** After every commit. */
  onPublished(published: { readonly rows: number; readonly progress: Progress }): void;
}

export interface Opened {
  readonly writer: TransactionalWriter;
  readonly topics: TopicDirectory;
  /** Committed, by this session or one before it. */
  readonly progress: Progress;
}
