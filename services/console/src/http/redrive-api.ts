/** What can be done about dead letters: handing them over again, and correcting one. */
import type { JobRequested } from '@tidemark/contracts';
import {
  correctedJson,
  describeEditRefusal,
  describeRedriveRefusal,
  editLetter,
  leftByRedrive,
  planRedrive,
  type RedrivePlan,
  redriveRequest,
  type SubmitAnswer,
  sameRedrive,
  submitJob,
} from '@tidemark/control';
import { Ordering } from '@tidemark/jobs';
import { assertNever, isJobId, JOB_ID_RULE } from '@tidemark/keyspace';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { EDIT_BODY_BYTES_MAX, ORDER_WAIT_MS, PLANS_AT_ONCE_MAX } from '../limits.ts';
import * as letterSchemas from '../view/letter-schemas.ts';
import * as schemas from '../view/schemas.ts';
import {
  documented,
  documentedOrder,
  FOR_OPERATORS,
  Refusal,
  read,
  readByHandler,
  taking,
  whileWaitedFor,
} from './documented.ts';
import {
  lettersOf,
  PLACE_PARAMS,
  type PlaceParams,
  placeOf,
  TOPIC_PARAMS,
  type TopicParams,
  topicOf,
} from './letter-params.ts';
import { actorOf, onlyOperators } from './roles.ts';
import type { ServerParts } from './server-parts.ts';

interface Asked extends letterSchemas.RedriveWish {
  readonly id?: string | undefined;
  readonly reason?: string;
}

export function registerRedriveApi(server: FastifyInstance, { parts, roles }: ServerParts): void {
  let plansUnderWay = 0;

  async function planned(request: JobRequested, topic: string, wish: Asked, reply: FastifyReply) {
    if (plansUnderWay >= PLANS_AT_ONCE_MAX)
      throw new Refusal(503, `${PLANS_AT_ONCE_MAX} plans are being made already; try again in a moment`);
    plansUnderWay += 1;
    try {
      const question = { topic, parameters: request.parameters, former: wish.recreated };
      const plan = await planRedrive(parts.cluster, question, whileWaitedFor(reply));
      if (plan.kind === 'planned') return plan;
      throw new Refusal(CODES[plan.kind], describeRedriveRefusal(topic, plan));
    } finally {
      plansUnderWay -= 1;
    }
  }

  async function requestOf(topic: string, wish: Asked, actor: string) {
    await lettersOf(parts, topic);
    if (wish.id !== undefined && !isJobId(wish.id)) throw new Refusal(400, `id: a job id is ${JOB_ID_RULE}`);
    const states = await parts.jobLog.states();
    const answer = redriveRequest(states, {
      topic,
      job: wish.job,
      faultClass: wish.class,
      handler: wish.handler,
      parameters: {},
      id: wish.id,
      ordering: Ordering.key,
      rate: wish.rate,
      roundsMax: wish.maxRounds,
      acceptDuplicates: wish.acceptDuplicates,
      reason: wish.reason ?? '',
      actor,
    });
    if (answer.kind === 'unknown job') throw new Refusal(404, `no job ${answer.jobId} is known`);
    if (answer.kind === 'no handler')
      throw new Refusal(400, 'handler: name who gets the letters, or a job for the handler of that job');
    return { request: answer.request, states };
  }

  server.get<{ Params: TopicParams }>(
    '/api/dead-letters/:topic/redrive',
    {
      ...documented(
        'What a redrive would hand over, and what it would leave; changes nothing',
        letterSchemas.redrivePlan,
        {
          params: TOPIC_PARAMS,
          ...taking('querystring', letterSchemas.redriveWish),
        },
      ),
      ...readByHandler,
    },
    async (call, reply): Promise<letterSchemas.RedrivePlan> => {
      const topic = topicOf(call.params);
      const wish = read(letterSchemas.redriveWish, call.query);
      const { request } = await requestOf(topic, wish, '');
      const { count } = await planned(request, topic, wish, reply);
      return {
        handler: request.handler,
        letters: count.letters,
        edited: count.edited,
        byClass: { ...count.byClass },
        byRound: { ...count.byRound },
        left: [...leftByRedrive(count)],
      };
    },
  );

  server.post<{ Params: TopicParams }>(
    '/api/dead-letters/:topic/redrive',
    {
      ...documentedOrder('Hands dead letters over again, as a job of its own', {
        params: TOPIC_PARAMS,
        ...taking('body', letterSchemas.redriveOrder),
      }),
      ...readByHandler,
      onRequest: onlyOperators(roles),
    },
    async (call, reply) => {
      const topic = topicOf(call.params);
      const wish = read(letterSchemas.redriveOrder, call.body);
      const { request: asked, states } = await requestOf(topic, wish, actorOf(roles, call));
      const request = sameRedrive(states, asked) ?? (await bounded(asked, topic, wish, reply));
      const { schedule } = await parts.cursors();
      const answer = await submitJob({ ...parts, schedule }, request, {
        answerTimeoutMs: ORDER_WAIT_MS,
        signal: whileWaitedFor(reply),
      });
      return tellSubmitted(request, answer, reply);
    },
  );

  /** The job takes what the plan saw. */
  async function bounded(asked: JobRequested, topic: string, wish: Asked, reply: FastifyReply): Promise<JobRequested> {
    const { count, parameters, to } = await planned(asked, topic, wish, reply);
    if (count.letters === 0) throw new Refusal(409, `no dead letter of ${topic} is asked for`);
    return { ...asked, parameters, to };
  }

  server.post<{ Params: PlaceParams }>(
    '/api/dead-letters/:topic/letters/:partition/:offset/edit',
    {
      ...documented('Appends a corrected copy, which a redrive takes in place of the letter', schemas.outcome, {
        ...FOR_OPERATORS,
        params: PLACE_PARAMS,
        ...taking('body', letterSchemas.letterEdit),
      }),
      bodyLimit: EDIT_BODY_BYTES_MAX,
      ...readByHandler,
      onRequest: onlyOperators(roles),
    },
    async (call, reply) => {
      const topic = topicOf(call.params);
      const place = placeOf(call.params.partition, call.params.offset);
      const wish = read(letterSchemas.letterEdit, call.body);
      const letters = await lettersOf(parts, topic);
      if (letters === undefined) throw new Refusal(404, `topic ${topic} has no dead letters`);
      if (wish.value === undefined && wish.key === undefined)
        throw new Refusal(400, 'say what is to be changed: value or key');
      const change = {
        ...(wish.key === undefined ? {} : { key: Buffer.from(wish.key.text) }),
        ...(wish.value === undefined ? {} : { value: await bytesOf(topic, wish.value) }),
      };
      const edit = { ...place, ...change, by: actorOf(roles, call), note: wish.reason };
      const answer = await editLetter(parts.cluster, letters, edit, {
        namespace: parts.namespace,
        dryRun: wish.dryRun,
        signal: whileWaitedFor(reply),
      });
      if (answer.kind !== 'planned') {
        const code = answer.kind === 'not found' ? 404 : answer.kind === 'cut short' ? 503 : 409;
        return reply.code(code).send({ error: describeEditRefusal({ topic, place }, answer) });
      }
      const behind = answer.copies.length - 1;
      const more =
        behind === 0 ? '' : `, and ${behind} letters of its key behind it as they are, so that their order stays`;
      const text = wish.dryRun
        ? `a corrected copy would be appended${more}; nothing was written`
        : `a corrected copy is appended${more}; a redrive takes it in place of this letter`;
      return { result: wish.dryRun ? 'dry run' : 'applied', text, jobId: null };
    },
  );

  async function bytesOf(topic: string, value: NonNullable<letterSchemas.LetterEdit['value']>): Promise<Buffer | null> {
    if ('text' in value) return Buffer.from(value.text);
    if ('base64' in value) return Buffer.from(value.base64, 'base64');
    return 'json' in value ? correctedJson(parts.codec, topic, value.json) : null;
  }
}

const CODES: Readonly<Record<Exclude<RedrivePlan['kind'], 'planned'>, number>> = {
  'topic missing': 404,
  'topic recreated': 409,
  'too many repeats': 409,
  'cut short': 503,
};

function tellSubmitted(request: JobRequested, answer: SubmitAnswer, reply: FastifyReply): FastifyReply {
  const { jobId, handler } = request;
  const refuse = (code: number, error: string): FastifyReply => reply.code(code).send({ error });
  switch (answer.kind) {
    case 'accepted': {
      const text = answer.created
        ? `job ${jobId} hands them over`
        : `job ${jobId} was requested before with the same words`;
      return reply.send({ result: 'applied', text, jobId });
    }
    case 'requested':
    case 'unanswered':
      return reply.code(202).send({
        result: 'unanswered',
        text: `job ${jobId} is requested, and no distributor has answered yet; it is pinned as soon as one runs: "tidemark distributor"`,
        jobId,
      });
    case 'refused':
      return refuse(409, `job ${jobId} was refused: ${answer.state.reason}`);
    case 'invalid':
      return refuse(400, answer.faults.join('; '));
    case 'malformed':
      return refuse(400, answer.reasons.join('; '));
    case 'unknown handler':
      return refuse(
        409,
        `no worker has announced a handler ${handler} (${answer.known.length === 0 ? 'no worker runs' : `known are ${answer.known.join(', ')}`}); "tidemark worker --handlers FILE" runs one`,
      );
    case 'not idempotent':
      return refuse(
        409,
        `handler ${handler} is not idempotent, and after a crash a chunk is handled again: it needs your consent to duplicates`,
      );
    case 'other content':
      return refuse(409, `job ${jobId} exists with other content`);
    case 'target refused':
    case 'window refused':
      return refuse(409, answer.reason);
    case 'unknown topic':
      return refuse(404, `topic ${answer.topic} does not exist`);
    default:
      return assertNever(answer);
  }
}
