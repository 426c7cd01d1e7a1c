import { type JobDefinition, OnExhausted, OnLost, Ordering } from '@tidemark/jobs';

/** A definition with the defaults of a request, for tests. */
export function jobDefinition(fields: Partial<JobDefinition> = {}): JobDefinition {
  return {
    formatVersion: 2,
    jobId: 'job',
    topic: 't',
    topicId: 'topic-id',
    handler: 'count',
    parameters: {},
    ordering: Ordering.none,
    chunkRecords: 10,
    chunkBytes: 1_048_576,
    concurrency: 0,
    rate: 0,
    attempts: 5,
    onExhausted: OnExhausted.deadLetter,
    parkedMax: 1_000,
    onLost: OnLost.stop,
    acceptDuplicates: false,
    fromMs: null,
    toMs: null,
    ...fields,
  };
}
