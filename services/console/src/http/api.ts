/** The JSON API, described by the schemas of the views. */
import type { FastifyInstance } from 'fastify';
import { JOBS_SHOWN_DEFAULT, JOBS_SHOWN_MAX } from '../limits.ts';
import { jobsView } from '../view/jobs.ts';
import { lagView } from '../view/lag.ts';
import { relayView } from '../view/relay.ts';
import { retentionView } from '../view/retention.ts';
import * as schemas from '../view/schemas.ts';
import { snapshotView } from '../view/snapshot.ts';
import { workersView } from '../view/workers.ts';
import { documented } from './documented.ts';
import type { ServerParts } from './server-parts.ts';

export function registerApi(server: FastifyInstance, parts: ServerParts): void {
  const { collector, details, relay, roles } = parts;

  server.get(
    '/api/status',
    documented('Services, jobs by state, lag: everything in one line', schemas.status),
    async () => snapshotView(await collector.fresh(), parts).status,
  );

  const limit = { type: 'integer', minimum: 1, maximum: JOBS_SHOWN_MAX, default: JOBS_SHOWN_DEFAULT };
  const query = { type: 'object', properties: { limit }, additionalProperties: false };
  server.get<{ Querystring: { readonly limit: number } }>(
    '/api/jobs',
    documented('Jobs: those under way first, then the newest', schemas.jobs, { querystring: query }),
    async (request) => jobsView(await collector.fresh(), request.query.limit),
  );

  server.get<{ Params: { readonly jobId: string } }>(
    '/api/jobs/:jobId',
    documented('One job: window, ranges, counters, and whether they add up', schemas.jobDetail, {
      params: { type: 'object', properties: { jobId: { type: 'string' } }, required: ['jobId'] },
    }),
    async (request, reply) => {
      const sight = await collector.fresh();
      const found = await details.of(sight, request.params.jobId);
      if (found.kind === 'job') return found.detail;
      return found.kind === 'unknown job'
        ? reply.code(404).send({ error: 'no such job' })
        : reply.code(503).send({ error: found.reason });
    },
  );

  server.get('/api/lag', documented('Lag per topic and partition, in offsets and seconds', schemas.lag), async () =>
    lagView(await collector.fresh()),
  );
  server.get('/api/workers', documented('Workers that announced themselves', schemas.workers), async () =>
    workersView(await collector.fresh()),
  );
  server.get('/api/relay', documented('How far the outbox is published', schemas.relay), async () =>
    relayView(await collector.fresh(), relay),
  );
  server.get('/api/retention', documented('What the logs must keep, and for whom', schemas.retention), async () =>
    retentionView(await collector.fresh()),
  );
  server.get(
    '/api/session',
    documented('Who you are here: a viewer, or the operator whose token you send', schemas.session),
    async (request, reply) => {
      const caller = roles.callerOf(request);
      if (caller.role === 'unknown token')
        return reply.code(401).send({ error: 'no operator of this console has this token' });
      const name = caller.role === 'operator' ? caller.name : null;
      const session: schemas.Session = { role: caller.role, name, hasOperators: roles.hasOperators };
      return session;
    },
  );
  server.get('/api/openapi.json', { schema: { hide: true } }, async () => server.swagger());
}
