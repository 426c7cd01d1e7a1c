/**
 * The live stream: a `snapshot` after every round, and a `job` for the one that the page shows. All streams share one
 * collector and one serialised text a round; a browser that does not take its data misses rounds, so nothing piles up.
 */
import type { ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Sight } from '../collect/collector.ts';
import { STREAM_RETRY_MS, STREAMS_MAX } from '../limits.ts';
import { snapshotView } from '../view/snapshot.ts';
import { NO_STORE, SECURITY_HEADERS } from './headers.ts';
import type { ServerParts } from './server-parts.ts';

export function registerEvents(server: FastifyInstance, parts: ServerParts): void {
  const { collector, details } = parts;
  const texts = new WeakMap<Sight, string>();
  const streams = new Set<ServerResponse>();

  function snapshotText(sight: Sight): string {
    const known = texts.get(sight);
    if (known !== undefined) return known;
    const text = eventText('snapshot', snapshotView(sight, parts));
    texts.set(sight, text);
    return text;
  }

  /** `null`: there is no such job, or nobody can say now. */
  async function jobText(sight: Sight, jobId: string): Promise<string> {
    const found = await details.of(sight, jobId);
    return eventText('job', found.kind === 'job' ? found.detail : null);
  }

  const query = { type: 'object', properties: { job: { type: 'string' } }, additionalProperties: false };
  const schema = {
    summary: 'A server-sent event a second: `snapshot`, and `job` for the job that is asked for',
    querystring: query,
    produces: ['text/event-stream'],
  };
  server.get<{ Querystring: { readonly job?: string } }>(
    '/api/events',
    { schema, exposeHeadRoute: false },
    async (request, reply) => {
      if (streams.size >= STREAMS_MAX)
        return reply.code(503).send({ error: `${STREAMS_MAX} pages are open already; close some` });
      reply.hijack();
      const stream = reply.raw;
      stream.writeHead(200, {
        ...SECURITY_HEADERS,
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': NO_STORE,
        'x-accel-buffering': 'no',
      });
      stream.write(`retry: ${STREAM_RETRY_MS}\n\n`);
      streams.add(stream);
      const { job } = request.query;
      const show = (sight: Sight): void => {
        if (!canTake(stream)) return;
        stream.write(snapshotText(sight));
        if (job === undefined) return;
        void jobText(sight, job).then((text) => {
          if (canTake(stream)) stream.write(text);
        });
      };
      const stop = collector.watch(show);
      stream.once('close', () => {
        stop();
        streams.delete(stream);
      });
      stream.on('error', () => stream.destroy()); // a browser that went away
      show(await collector.fresh());
      return reply;
    },
  );
}

function canTake(stream: ServerResponse): boolean {
  return !stream.destroyed && !stream.writableNeedDrain;
}

/** JSON has no line breaks of its own. */
function eventText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
