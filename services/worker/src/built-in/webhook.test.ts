import { createMemoryCodec } from '@tidemark/contracts/testing';
import { classifyFault, type HandlerContext, type HandlerEvent } from '@tidemark/handlers';
import { toOffset } from '@tidemark/keyspace';
import { expect, it } from 'vitest';
import { createWebhook } from './webhook.ts';

it('takes a record that makes no request for its own fault, not for one of the server', async () => {
  const { handle } = createWebhook({ codec: createMemoryCodec(), nowMs: Date.now });
  // A letter may say that it is of any topic.
  for (const topic of ['a\nb', 'schön 𝄞']) {
    const event: HandlerEvent<Buffer | null> = {
      topic,
      partition: 0,
      offset: toOffset(0),
      timestampMs: 0n,
      key: null,
      value: null,
      headers: [],
      payload: null,
    };
    const context = { jobId: 'j', attempt: 1, parameters: { url: 'http://127.0.0.1:1/' } } as unknown as HandlerContext;
    const thrown = await Promise.resolve(handle?.(event, { ...context, signal: new AbortController().signal })).catch(
      (error: unknown) => error,
    );
    expect(classifyFault(thrown)).toMatchObject({ kind: 'data', message: expect.stringContaining('header') });
  }
});
