import type { FencingToken } from '@tidemark/cursors';
import type { Offset, RangeRef } from '@tidemark/keyspace';
import type { Instant } from './lease-trust.ts';

/** A lease as the store granted it. */
export interface Grant {
  readonly jobId: string;
  readonly range: RangeRef;
  readonly token: FencingToken;
  readonly cursor: Offset;
  readonly end: Offset;
  readonly parkedCount: number;
  /** Taken before the lease was asked for. */
  readonly since: Instant;
}

/** The range is not ours any more (or never surely): stop at once, write nothing. */
export interface LetGo {
  readonly kind: 'let go';
  readonly reason: 'fenced' | 'not running' | 'incomplete' | 'cursor moved' | 'not trusted';
}
