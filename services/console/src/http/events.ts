/**
 * The live stream: a `snapshot` after every round, and news of the one thing that the page shows: a `job`, a `series`, or
 * the `letters` of a topic. All streams share one collector and one serialised text a round; a browser that does not take its
 * data misses rounds, so nothing piles up.
 */
import type { ServerResponse } from 'node:http';
import { isTopicName } from '@tidemark/keyspace';
import type { FastifyInstance } from 'fastify';
import type { Sight } from '../collect/collector.ts';
import { knownValue } from '../collect/feed.ts';
import { STREAM_RETRY_MS, STREAMS_MAX } from '../limits.ts';
import { letterGroupsView } from '../view/letter-groups.ts';
import { seriesDetailView } from '../view/series.ts';
import { snapshotView } from '../view/snapshot.ts';
import { NO_STORE, SECURITY_HEADERS } from './headers.ts';
import type { ServerParts } from './server-parts.ts';

/** At most one of them. */
interface Subject {
  readonly job?: string;
  readonly series?: string;
  readonly letters?: string;
}

export function registerEvents(server: FastifyInstance, parts: ServerParts): void {
  const { collector, details, letters } = parts;
  const texts = new WeakMap<Sight, string>();
  const streams = new Set<ServerResponse>();

  function snapshotText(sight: Sight): string {
    const known = texts.get(sight);
    if (known !== undefined) return known;
    const text = eventText('snapshot', snapshotView(sight, parts));
    texts.set(sight, text);
    return text;
  }

  /** `null`: there is no such thing, or nobody can say now. */
  async function subjectText(sight: Sight, { job, series, letters: topic }: Subject): Promise<string | undefined> {
    if (job !== undefined) {
      const found = await details.of(sight, job);
      return eventText('job', found.kind === 'job' ? found.detail : null);
    }
    if (series !== undefined) {
      const found = knownValue(sight.series)?.get(series);
      return eventText('series', found === undefined ? null : seriesDetailView(sight, found));
    }
    if (topic === undefined) return undefined;
    const found = isTopicName(topic) ? await letters.of(topic) : undefined;
    if (found?.kind === 'no letters') return eventText('letters', letterGroupsView(topic, undefined));
    return eventText('letters', found?.kind === 'grouped' ? letterGroupsView(topic, found.letters) : null);
  }

  const text = { type: 'string' };
  const query = {
    type: 'object',
    properties: { job: text, series: text, letters: { ...text, description: 'A topic: its dead letters' } },
    additionalProperties: false,
  };
  const schema = {
    summary: 'A server-sent event a second: `snapshot`, and `job`, `series` or `letters` for the one that is asked for',
    querystring: query,
    produces: ['text/event-stream'],
  };
  server.get<{ Querystring: Subject }>('/api/events', { schema, exposeHeadRoute: false }, async (request, reply) => {
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
    let last: string | undefined;
    const show = (sight: Sight): void => {
      if (!canTake(stream)) return;
      stream.write(snapshotText(sight));
      void subjectText(sight, request.query).then((news) => {
        // What is as it was is not told again.
        if (news === undefined || news === last || !canTake(stream)) return;
        last = news;
        stream.write(news);
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
  });
}

function canTake(stream: ServerResponse): boolean {
  return !stream.destroyed && !stream.writableNeedDrain;
}

/** JSON has no line breaks of its own. */
function eventText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
