/** The JSON API, described by the schemas of the views. */
import { z } from '@tidemark/observability';
import type { FastifyInstance } from 'fastify';
import { JOBS_SHOWN_DEFAULT, JOBS_SHOWN_MAX } from '../limits.ts';
import { jobsView } from '../view/jobs.ts';
import { lagView } from '../view/lag.ts';
import { relayView } from '../view/relay.ts';
import { retentionView } from '../view/retention.ts';
import * as schemas from '../view/schemas.ts';
import { snapshotView } from '../view/snapshot.ts';
import { workersView } from '../view/workers.ts';
import type { ServerParts } from './server-parts.ts';

export function registerApi(server: FastifyInstance, parts: ServerParts): void {
  const { collector, details, relay } = parts;

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
  server.get('/api/openapi.json', { schema: { hide: true } }, async () => server.swagger());
}

function documented(summary: string, answer: z.ZodType, more: Readonly<Record<string, unknown>> = {}) {
  const failed = (description: string) => ({ description, ...jsonSchema(schemas.fault) });
  return {
    schema: {
      summary,
      ...more,
      response: {
        200: { description: summary, ...jsonSchema(answer) },
        '4xx': failed('What was asked for does not exist, or was asked for in a wrong way'),
        '5xx': failed('A service does not answer'),
      },
    },
  };
}

function jsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema);
  return rest;
}
