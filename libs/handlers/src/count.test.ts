import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { createCountHandler, done, type HandlerContext, type HandlerEvent } from '../index.ts';

const context: HandlerContext = {
  jobId: 'j',
  parameters: {},
  rangeId: 'r',
  token: 't',
  attempt: 1,
  signal: new AbortController().signal,
  log: { info: () => undefined, warn: () => undefined },
};

function event(value: Buffer | null): HandlerEvent<Buffer | null> {
  return {
    topic: 't',
    topicId: 'id',
    partition: 0,
    offset: toOffset(0),
    timestampMs: 0n,
    key: null,
    value,
    headers: [],
    payload: value,
  };
}

it('counts records and value bytes, tombstones as zero bytes, with one outcome for the whole chunk', async () => {
  const { handler, totals } = createCountHandler();
  expect(await handler.handleBatch?.([event(Buffer.from('abc')), event(null), event(Buffer.alloc(0))], context)).toBe(
    done(),
  );
  expect(totals()).toEqual({ records: 3, valueBytes: 3 });
});
