/** A search ends with whoever asked for it: on a log whose reader hangs, so that only the end of the request can end it. */
import { deadLetterTopic } from '@tidemark/jobs';
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { LogReader } from '@tidemark/log';
import { createMemoryCluster } from '@tidemark/log/testing';
import Fastify from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { registerDeadLetterApi } from './dead-letter-api.ts';
import { registerRedriveApi } from './redrive-api.ts';
import { createRoles } from './roles.ts';
import type { ServerParts } from './server-parts.ts';

/** Reads nothing until it is aborted, and tells both. */
function hangingReader(told: { reading(): void; aborted(): void }): LogReader {
  return {
    read({ signal }) {
      told.reading();
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => {
          told.aborted();
          reject(new TidemarkError({ code: 'ABORTED', class: ErrorClass.unavailable, message: 'aborted' }));
        });
      });
    },
    close: async () => {},
  };
}

it.each(['letters', 'redrive?handler=count'])('L5: what nobody waits for any more is not read on: %s', async (path) => {
  const cluster = createMemoryCluster();
  cluster.createTopic('orders');
  cluster.createTopic(deadLetterTopic('orders'));
  const writer = await cluster.openWriter();
  await writer.append([{ topic: deadLetterTopic('orders'), partition: 0, key: null, value: null }]);
  const reading = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const reader = hangingReader({ reading: reading.resolve, aborted: aborted.resolve });
  const server = Fastify();
  onTestFinished(() => server.close());
  const jobLog = { states: async () => new Map() };
  const parts = {
    roles: createRoles([]),
    parts: { cluster: { catalog: cluster.catalog, openReader: () => reader }, jobLog },
  } as unknown as ServerParts;
  registerDeadLetterApi(server, parts);
  registerRedriveApi(server, parts);
  const origin = await server.listen({ host: '127.0.0.1', port: 0 });
  const waiting = new AbortController();
  const answer = fetch(`${origin}/api/dead-letters/orders/${path}`, { signal: waiting.signal });
  await reading.promise;
  waiting.abort();
  await expect(answer).rejects.toMatchObject({ name: 'AbortError' });
  await aborted.promise;
});
