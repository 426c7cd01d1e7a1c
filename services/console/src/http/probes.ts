/** For machines: alive, ready, numbers. */
import type { FastifyInstance } from 'fastify';
import { servicesView } from '../view/status.ts';
import type { ServerParts } from './server-parts.ts';

const TEXT = 'text/plain; charset=utf-8';

export function registerProbes(server: FastifyInstance, { collector, metrics }: ServerParts): void {
  const hidden = { schema: { hide: true } };

  /** Says nothing of any service: a restart of the console would heal none of them. */
  server.get('/livez', hidden, async (_request, reply) => reply.type(TEXT).send('ok\n'));

  server.get('/readyz', hidden, async (_request, reply) => {
    const services = servicesView(await collector.fresh());
    const missing = services.filter(({ state }) => state !== 'up');
    if (missing.length === 0) return reply.type(TEXT).send('ok\n');
    const lines = missing.map(({ name, state, detail }) => `${name}: ${state}: ${detail}`);
    return reply
      .code(503)
      .type(TEXT)
      .send(`${lines.join('\n')}\n`);
  });

  server.get('/metrics', hidden, async (_request, reply) => {
    const { contentType, page } = await metrics.render(await collector.fresh());
    return reply.type(contentType).send(page);
  });
}
