/** The HTTP server: loopback only, changes only by operators, every answer with the same headers. */
import swagger from '@fastify/swagger';
import { describeError, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import Fastify, { type FastifyInstance } from 'fastify';
import { ADDRESS_PART_CHARACTERS_MAX, BODY_BYTES_MAX } from '../limits.ts';
import { registerApi } from './api.ts';
import { registerDeadLetterApi } from './dead-letter-api.ts';
import { registerEvents } from './events.ts';
import { NO_STORE, SECURITY_HEADERS } from './headers.ts';
import { isLoopbackHost, isLoopbackHostHeader } from './loopback.ts';
import { registerPages } from './pages.ts';
import { registerProbes } from './probes.ts';
import { registerRedriveApi } from './redrive-api.ts';
import { registerSeriesApi } from './series-api.ts';
import type { ServerParts } from './server-parts.ts';

export async function createServer(parts: ServerParts): Promise<FastifyInstance> {
  const server = Fastify({
    logger: false,
    bodyLimit: BODY_BYTES_MAX,
    routerOptions: { maxParamLength: ADDRESS_PART_CHARACTERS_MAX },
    // Streams are open for as long as somebody looks; a stop does not wait for people.
    forceCloseConnections: true,
  });
  // Schemas describe; they must not drop a field silently, as a serializer made of them would. Tests hold both together.
  server.setSerializerCompiler(() => (data) => JSON.stringify(data));
  server.addHook('onRequest', async (request, reply) => {
    reply.headers({ ...SECURITY_HEADERS, 'cache-control': NO_STORE });
    if (!isLoopbackHostHeader(request.headers.host))
      return reply
        .code(421)
        .send({ error: 'this console answers to loopback names only, e.g. 127.0.0.1 or localhost' });
    return undefined;
  });
  server.setErrorHandler(async (error, _request, reply) => {
    const status = statusOf(error);
    if (status === 500) parts.logger.error({ error }, 'console.request_failed');
    return reply.code(status).send({ error: describeError(error) });
  });
  server.setNotFoundHandler(async (_request, reply) => reply.code(404).send({ error: 'there is nothing here' }));
  await server.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Tidemark console',
        description:
          'What runs, how far it is, and what it waits for. What changes something asks for the token of an operator. Whole numbers of 64 bits are strings.',
        version: '1',
      },
      components: { securitySchemes: { operator: { type: 'http', scheme: 'bearer' } } },
    },
  });
  registerProbes(server, parts);
  registerApi(server, parts);
  registerSeriesApi(server, parts);
  registerDeadLetterApi(server, parts);
  registerRedriveApi(server, parts);
  registerEvents(server, parts);
  await registerPages(server);
  return server;
}

/** A service that is down and bytes that cannot be taken are no faults of the console. */
function statusOf(error: unknown): number {
  if (error instanceof TidemarkError && error.class === ErrorClass.unavailable) return 503;
  if (error instanceof TidemarkError && error.class === ErrorClass.data) return 422;
  const code = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
  return (code >= 400 && code < 500) || code === 503 ? code : 500;
}

/** Throws TidemarkError `config`: PUBLIC_BIND or PORT_UNUSABLE. */
export async function listen(
  server: FastifyInstance,
  place: { readonly host: string; readonly port: number },
): Promise<number> {
  if (!isLoopbackHost(place.host)) {
    throw new TidemarkError({
      code: 'PUBLIC_BIND',
      class: ErrorClass.config,
      message: `the console does not listen on ${place.host}: it has no log-in yet, so only loopback addresses are allowed (TIDEMARK_CONSOLE_HOST)`,
    });
  }
  try {
    await server.listen(place);
  } catch (error) {
    throw new TidemarkError({
      code: 'PORT_UNUSABLE',
      class: ErrorClass.config,
      message: `cannot listen on ${place.host}:${place.port}: ${describeError(error)}; set TIDEMARK_CONSOLE_PORT to a free port`,
      cause: error,
    });
  }
  const address = server.server.address();
  return typeof address === 'object' && address !== null ? address.port : place.port;
}
