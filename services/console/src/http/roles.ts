/**
 * Who may do what. Everybody who reaches this console is a viewer; an operator is whoever sends the token of one with a
 * request that changes something. The token travels in a header that no page of somebody else can set, so a foreign page
 * cannot act in an operator's name, and there is no cookie that it could ride on.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface Operator {
  /** For the audit trail. */
  readonly name: string;
  readonly token: string;
}

export type Caller =
  | { readonly role: 'operator'; readonly name: string }
  | { readonly role: 'viewer' }
  /** It says that it is an operator, and is not. */
  | { readonly role: 'unknown token' };

export interface Roles {
  /** Whether there are operators at all. */
  readonly hasOperators: boolean;
  callerOf(request: Pick<FastifyRequest, 'headers'>): Caller;
}

export function createRoles(operators: readonly Operator[]): Roles {
  const known = operators.map(({ name, token }) => ({ name, digest: digestOf(token) }));
  return {
    hasOperators: known.length > 0,
    callerOf({ headers: { authorization } }) {
      if (authorization === undefined) return { role: 'viewer' };
      const digest = digestOf(/^Bearer (.+)$/i.exec(authorization)?.[1] ?? '');
      // All are compared, so that the time tells nothing.
      const [found] = known.filter((operator) => timingSafeEqual(operator.digest, digest));
      return found === undefined ? { role: 'unknown token' } : { role: 'operator', name: found.name };
    },
  };
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

const VIEWER =
  'you are a viewer, who may look and change nothing: an operator sends its token (TIDEMARK_CONSOLE_OPERATOR_TOKENS), and the command line does the same';

/** Before every route that changes something, and before its request is read. */
export function onlyOperators(roles: Roles) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const { role } = roles.callerOf(request);
    if (role === 'operator') return undefined;
    if (role === 'viewer') return reply.code(403).send({ error: VIEWER });
    return reply.code(401).send({ error: 'no operator of this console has this token' });
  };
}

/** Who did it, for the audit trail; only behind `onlyOperators`. */
export function actorOf(roles: Roles, request: FastifyRequest): string {
  const caller = roles.callerOf(request);
  return `${caller.role === 'operator' ? caller.name : caller.role}@console`;
}
