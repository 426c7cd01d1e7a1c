/** Series: all, one, and orders to them. */
import { describeSeriesOrder, hasStopped, orderSeries } from '@tidemark/control';
import type { FastifyInstance } from 'fastify';
import { ORDER_WAIT_MS } from '../limits.ts';
import { seriesDetailView, seriesListView } from '../view/series.ts';
import * as seriesSchemas from '../view/series-schemas.ts';
import { documented, documentedOrder, read, readByHandler, taking, whileWaitedFor } from './documented.ts';
import { actorOf, onlyOperators } from './roles.ts';
import type { ServerParts } from './server-parts.ts';

const PARAMS = { type: 'object', properties: { series: { type: 'string' } }, required: ['series'] };

interface SeriesParams {
  readonly Params: { readonly series: string };
}

const STATUS_CODES = { 'unknown series': 404, 'not in this state': 409 } as const;

export function registerSeriesApi(server: FastifyInstance, { collector, parts, roles }: ServerParts): void {
  server.get('/api/series', documented('Series that hold a log', seriesSchemas.seriesList), async () =>
    seriesListView(await collector.fresh()),
  );

  server.get<SeriesParams>(
    '/api/series/:series',
    documented('One series: what it does, its runs, and what it holds', seriesSchemas.seriesDetail, { params: PARAMS }),
    async (request, reply) => {
      const sight = await collector.fresh();
      if (sight.series.kind === 'unknown') return reply.code(503).send({ error: sight.series.reason });
      const state = sight.series.value.get(request.params.series);
      return state === undefined ? reply.code(404).send({ error: 'no such series' }) : seriesDetailView(sight, state);
    },
  );

  server.post<SeriesParams>(
    '/api/series/:series/orders',
    {
      ...documentedOrder('Orders a run now, a resume behind what stopped it, or its end', {
        params: PARAMS,
        ...taking('body', seriesSchemas.seriesOrder),
      }),
      ...readByHandler,
      onRequest: onlyOperators(roles),
    },
    async (request, reply) => {
      const { order, reason } = read(seriesSchemas.seriesOrder, request.body);
      const { series } = request.params;
      const answer = await orderSeries(
        parts,
        { series, order },
        { reason, actor: actorOf(roles, request), answerTimeoutMs: ORDER_WAIT_MS, signal: whileWaitedFor(reply) },
      );
      const text = describeSeriesOrder(order, series, answer);
      if (answer.kind === 'unknown series' || answer.kind === 'not in this state')
        return reply.code(STATUS_CODES[answer.kind]).send({ error: text });
      if (hasStopped(order, answer)) return reply.code(409).send({ error: text });
      if (answer.kind !== 'applied') return reply.code(202).send({ result: 'unanswered', text, jobId: null });
      const isNew = order === 'run' && answer.state.runs > answer.before.runs;
      return { result: 'applied', text, jobId: isNew ? `${series}-${answer.state.runs}` : null };
    },
  );
}
