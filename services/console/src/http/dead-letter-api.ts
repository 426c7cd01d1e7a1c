/** Dead letters: which topics have some, by what went wrong, in pages, one by one, byte by byte. */
import { deadLetterAt, letterPage } from '@tidemark/control';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { LETTER_LOOK_MS, LETTER_LOOK_OFFSETS_MAX, LETTERS_SHOWN_MAX } from '../limits.ts';
import { letterGroupsView, letterTopicsView } from '../view/letter-groups.ts';
import * as letterSchemas from '../view/letter-schemas.ts';
import { keepLetter, letterRow, letterView } from '../view/letters.ts';
import { documented, Refusal, whileWaitedFor } from './documented.ts';
import {
  lettersOf,
  PLACE_PARAMS,
  type PlaceParams,
  placeOf,
  TOPIC_PARAMS,
  type TopicParams,
  topicOf,
} from './letter-params.ts';
import type { ServerParts } from './server-parts.ts';

interface LetterQuery {
  readonly class?: string;
  readonly job?: string;
  readonly partition?: number;
  readonly key?: string;
  readonly from?: string;
  readonly limit: number;
}

const LETTER_QUERY = {
  type: 'object',
  properties: {
    class: { type: 'string', description: 'data, transient, timeout' },
    job: { type: 'string' },
    partition: { type: 'integer', minimum: 0 },
    key: { type: 'string', description: 'The whole key, as text.' },
    from: { type: 'string', description: 'Where the last look ended: its `next`.' },
    limit: { type: 'integer', minimum: 1, maximum: LETTERS_SHOWN_MAX, default: LETTERS_SHOWN_MAX },
  },
  additionalProperties: false,
};

export function registerDeadLetterApi(server: FastifyInstance, { collector, letters, parts }: ServerParts): void {
  server.get(
    '/api/dead-letters',
    documented('Topics with dead letters, of those that jobs and series know', letterSchemas.letterTopics),
    async () => letterTopicsView(await collector.fresh()),
  );

  server.get<{ Params: TopicParams }>(
    '/api/dead-letters/:topic',
    documented('Dead letters by what went wrong, as far as they were looked at', letterSchemas.letterGroups, {
      params: TOPIC_PARAMS,
    }),
    async (request, reply) => {
      const topic = topicOf(request.params);
      const answer = await letters.of(topic);
      if (answer.kind === 'grouped') return letterGroupsView(topic, answer.letters);
      if (answer.kind === 'no letters') return letterGroupsView(topic, undefined);
      if (answer.kind === 'unavailable') return reply.code(503).send({ error: answer.reason });
      return reply.code(404).send({ error: `neither topic ${topic} nor one with its dead letters exists` });
    },
  );

  server.get<{ Params: TopicParams; Querystring: LetterQuery }>(
    '/api/dead-letters/:topic/letters',
    documented('A bounded look into dead letters, in the order of the log; `next` goes on', letterSchemas.letterPage, {
      params: TOPIC_PARAMS,
      querystring: LETTER_QUERY,
    }),
    async (request, reply) => pageOf(topicOf(request.params), request.query, reply),
  );

  async function pageOf(topic: string, query: LetterQuery, reply: FastifyReply): Promise<letterSchemas.LetterPage> {
    const found = await lettersOf(parts, topic);
    if (found === undefined)
      return { letterTopic: null, letters: [], offsetsPassed: '0', offsetsTotal: '0', next: null, cutShort: [] };
    const [partition, offset] = query.from?.split(':') ?? [];
    const page = await letterPage(
      parts.cluster,
      found,
      {
        filter: {
          jobId: query.job,
          faultClass: query.class,
          partition: query.partition,
          key: query.key === undefined ? undefined : Buffer.from(query.key),
        },
        from: query.from === undefined ? undefined : placeOf(partition ?? '', offset ?? ''),
        lettersMax: query.limit,
        offsetsMax: LETTER_LOOK_OFFSETS_MAX,
        timeMs: LETTER_LOOK_MS,
        signal: whileWaitedFor(reply),
      },
      keepLetter,
    );
    return {
      letterTopic: found.topic,
      letters: await Promise.all(page.letters.map((letter) => letterRow(parts.codec, letter))),
      offsetsPassed: page.passed.toString(),
      offsetsTotal: page.total.toString(),
      next: page.next === undefined ? null : `${page.next.partition}:${page.next.offset}`,
      cutShort: [...page.cutShort],
    };
  }

  server.get<{ Params: PlaceParams }>(
    '/api/dead-letters/:topic/letters/:partition/:offset',
    documented('One dead letter: decoded, bounded, with its true size', letterSchemas.letter, { params: PLACE_PARAMS }),
    async (request) => {
      const { topic, letterTopic, letter } = await letterOf(request.params);
      return letterView(parts.codec, { topic, letterTopic }, letter);
    },
  );

  for (const part of ['key', 'value'] as const) {
    server.get<{ Params: PlaceParams }>(
      `/api/dead-letters/:topic/letters/:partition/:offset/${part}`,
      {
        schema: {
          summary: `The ${part} of one dead letter, every byte of it`,
          params: PLACE_PARAMS,
          produces: ['application/octet-stream'],
        },
      },
      async (request, reply) => {
        const { topic, letter } = await letterOf(request.params);
        const bytes = letter.record[part];
        if (bytes === null) throw new Refusal(404, `the letter has no ${part}`);
        const { partition, offset } = request.params;
        // Whatever it is, a browser keeps it in a file and shows nothing of it.
        return reply
          .header('content-disposition', `attachment; filename="${topic}-${partition}-${offset}.${part}.bin"`)
          .type('application/octet-stream')
          .send(bytes);
      },
    );
  }

  async function letterOf(params: PlaceParams) {
    const topic = topicOf(params);
    const place = placeOf(params.partition, params.offset);
    const found = await lettersOf(parts, topic);
    const bounds = found && (await parts.cluster.catalog.offsets(found))[place.partition];
    const isThere =
      bounds !== undefined && place.offset >= bounds.logStartOffset && place.offset < bounds.highWatermark;
    const letter = found === undefined || !isThere ? undefined : await deadLetterAt(parts.cluster, found, place);
    if (found === undefined || letter?.record.offset !== place.offset)
      throw new Refusal(
        404,
        `no dead letter of ${topic} is at ${place.partition}:${place.offset} (retention may have taken it)`,
      );
    return { topic, letterTopic: found.topic, letter };
  }
}
