/** Routes as the OpenAPI document tells them, from the schemas of the views; and requests as those schemas read them. */
import { z } from '@tidemark/observability';
import type { FastifyReply } from 'fastify';
import * as schemas from '../view/schemas.ts';

export function documented(summary: string, answer: z.ZodType, more: Readonly<Record<string, unknown>> = {}) {
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

/** Of a route that only operators may use, by the name that the document gives their tokens. */
export const FOR_OPERATORS = { security: [{ operator: [] }] } as const;

/** An order, which may be answered before a distributor has applied it. */
export function documentedOrder(summary: string, more: Readonly<Record<string, unknown>>) {
  const { schema } = documented(summary, schemas.outcome, { ...more, ...FOR_OPERATORS });
  const later = { ...schema.response[200], description: 'It is written down, and no distributor has answered yet' };
  return { schema: { ...schema, response: { ...schema.response, 202: later } } };
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output' = 'output'): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}

/** What a route takes, told by its schema; the handler reads it with `read`, for one place decides what is right. */
export function taking(part: 'body' | 'querystring', schema: z.ZodType) {
  return { [part]: jsonSchema(schema, 'input') };
}

/** Of a route whose request its handler reads: the description of a request is not its judge as well. */
export const readByHandler = { validatorCompiler: () => () => true } as const;

/** Throws a refusal that says which part is wrong. */
export function read<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const answer = schema.safeParse(value ?? {});
  if (answer.success) return answer.data;
  const faults = answer.error.issues.map(({ path, message }) => `${path.join('.') || 'the request'}: ${message}`);
  throw new Refusal(400, faults.join('; '));
}

/** Answered as it is, and no fault of the console. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

/** Aborted when nobody waits for the answer any more, so that a search ends with whoever asked for it. */
export function whileWaitedFor(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  if (reply.raw.closed || reply.raw.destroyed) gone.abort();
  else reply.raw.once('close', () => gone.abort());
  return gone.signal;
}
