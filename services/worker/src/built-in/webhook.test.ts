/** Of one request, without a worker. */
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { createMemoryCodec } from '@tidemark/contracts/testing';
import { classifyFault, type HandlerContext, type HandlerEvent } from '@tidemark/handlers';
import { toOffset } from '@tidemark/keyspace';
import { expect, it, onTestFinished } from 'vitest';
import { createWebhook } from './webhook.ts';

async function faultOf(parameters: Readonly<Record<string, string>>, topic = 't') {
  const { handle } = createWebhook({ codec: createMemoryCodec(), nowMs: Date.now });
  const place = { topic, topicId: 'id', partition: 0, offset: toOffset(0), timestampMs: 0n };
  const event: HandlerEvent<Buffer | null> = { ...place, key: null, value: null, headers: [], payload: null };
  const context = { jobId: 'j', attempt: 1, parameters, signal: new AbortController().signal };
  const thrown = await Promise.resolve(handle?.(event, context as unknown as HandlerContext)).catch(
    (error: unknown) => error,
  );
  return classifyFault(thrown);
}

it('takes a record that makes no request for its own fault, not for one of the server', async () => {
  // A letter may say that it is of any topic.
  for (const topic of ['a\nb', 'schön 𝄞'])
    expect(await faultOf({ url: 'http://127.0.0.1:1/' }, topic)).toMatchObject({
      kind: 'data',
      message: expect.stringContaining('header'),
    });
});

/** Listens, and from its first connection on looks at none: what its queue does not hold is not answered at all. */
const DEAF = `const { createServer } = require('node:net');
const server = createServer(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => require('node:worker_threads').parentPort.postMessage(server.address()));`;

it('P6: a host that takes no connection is not available, however short the time of a request is', async () => {
  const host = new Worker(DEAF, { eval: true });
  onTestFinished(() => void host.terminate());
  const [{ port }] = (await once(host, 'message')) as [AddressInfo];
  const fill = Array.from({ length: 8 }, () => connect({ port, host: '127.0.0.1' }).on('error', () => {}));
  onTestFinished(() => fill.forEach((socket) => void socket.destroy()));
  await once(fill[0] ?? host, 'connect');
  const origin = `http://127.0.0.1:${port}`;
  expect(await faultOf({ url: `${origin}/in`, timeoutMs: '300' })).toMatchObject({
    kind: 'unavailable',
    dependency: `webhook ${origin}`,
    message: expect.stringContaining('takes no connection'),
  });
});
