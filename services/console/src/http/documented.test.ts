import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { whileWaitedFor } from './documented.ts';

it('whoever went away before the work began is not waited for either', async () => {
  const server = Fastify();
  const [asked, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const isAborted = Promise.withResolvers<boolean>();
  server.get('/', async (_, reply) => {
    reply.raw.once('close', () => gone.resolve());
    asked.resolve();
    await gone.promise;
    isAborted.resolve(whileWaitedFor(reply).aborted);
    return {};
  });
  const url = await server.listen({ port: 0 });
  try {
    const leaving = new AbortController();
    const answer = fetch(url, { signal: leaving.signal }).catch(() => undefined);
    await asked.promise;
    leaving.abort();
    await answer;
    expect(await isAborted.promise).toBe(true);
  } finally {
    await server.close();
  }
});
