/** A whole request from what must be said; the rest as the schema's defaults say (a test holds the two together). */
import type { JobRequested } from '@tidemark/contracts';

export type RequestFields = Pick<JobRequested, 'jobId' | 'topic' | 'handler'> & Partial<JobRequested>;

export function newRequest(fields: RequestFields): JobRequested {
  return {
    formatVersion: 1,
    parameters: {},
    from: 'earliest',
    to: 'now',
    disorderMs: -1n,
    ordering: 'none',
    chunkRecords: 1_000,
    chunkBytes: 1_048_576,
    concurrency: 0,
    rate: 0,
    rangesPerPartition: 1,
    attempts: 5,
    onExhausted: 'dead letter',
    parkedMax: 1_000,
    deadLettersMax: 10_000n,
    budget: { secondsMax: 0n, chunksMax: 0n, failuresMax: 0n },
    onLost: 'stop',
    holdForAuditMs: 0n,
    acceptDuplicates: false,
    priority: 0,
    note: '',
    requestedBy: '',
    series: '',
    ...fields,
  };
}
