/** What the codec makes of a registry that is down, slow, wrong or hidden: a stub on a loopback port stands in its place. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@tidemark/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { schemaTexts } from '../../generated/records.ts';
import { SchemaName } from '../../ports.ts';
import { createCodec } from './registry-codec.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const json =
  (status: number, body: object): Answer =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json' }).end(JSON.stringify(body));
  };
const schemaFound = json(200, { schema: schemaTexts[SchemaName.jsonValue] });
const schemaMissing = json(404, { error_code: 40403, message: 'Schema not found' });

const servers: Server[] = [];
afterEach(async () => {
  await Promise.all(
    servers.splice(0).map((server) => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    }),
  );
});

/** Gives up soon; each trouble takes that long. */
const IMPATIENT = { requestTimeoutMs: 150, deadlineMs: 1_500 };
/** For what is answered: a loaded machine may stand still over a request. */
const PATIENT = { requestTimeoutMs: 60_000, deadlineMs: 120_000 };

async function stub(first: Answer, patience = PATIENT) {
  let answer = first;
  const asked: { readonly path: string; readonly authorization: string | undefined }[] = [];
  const server = createServer((request, response) => {
    asked.push({ path: request.url ?? '', authorization: request.headers.authorization });
    answer(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    asked,
    answerWith: (next: Answer) => {
      answer = next;
    },
    codec: createCodec({ registryUrl: url, ...patience }),
  };
}

/** A JsonValue of `{}` behind schema id 7. */
const RECORD = Buffer.from([0, 0, 0, 0, 7, 4, 0x7b, 0x7d]);
const UNAVAILABLE = { code: 'REGISTRY_UNAVAILABLE', class: 'unavailable' };

describe('a registry in trouble', () => {
  it('that is down is unavailable, by its address and without its password', async () => {
    const { url } = await stub(schemaFound);
    const server = servers.pop();
    await new Promise((resolve) => server?.close(resolve));
    const codec = createCodec({ registryUrl: url.replace('//', '//user:geheim@'), ...IMPATIENT });
    const refusal = await codec.decode(RECORD).catch((error: Error) => error);
    expect(refusal).toMatchObject(UNAVAILABLE);
    expect((refusal as Error).message).toContain(url);
    expect((refusal as Error).message).not.toContain('geheim');
    await expect(codec.encode(SchemaName.jsonValue, { json: '{}' })).rejects.toMatchObject(UNAVAILABLE);
    await expect(codec.encodeJsonFor('orders', '{}')).rejects.toMatchObject(UNAVAILABLE);
  });

  it.each<readonly [string, Answer]>([
    ['that answers 500', json(500, { message: 'no' })],
    ['that answers 503 without a body', (_, response) => response.writeHead(503).end()],
    ['that is too busy', json(429, { message: 'too many requests' })],
    ['that does not answer', () => undefined],
    ['that cuts the line', (request) => request.socket.destroy()],
    [
      'that cuts the line in the middle of an answer',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{"schema":');
        setImmediate(() => response.destroy());
      },
    ],
    [
      'behind a proxy that serves a page',
      (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    ],
    ['behind a gateway that knows no such route', json(404, { message: 'no Route matched with those values' })],
    ['at a wrong path', (_, response) => response.writeHead(404).end()],
  ])('%s is unavailable, and the record good once it answers', async (_, answer) => {
    const { codec, answerWith } = await stub(answer, IMPATIENT);
    await expect(codec.decode(RECORD)).rejects.toMatchObject(UNAVAILABLE);
    answerWith(schemaFound);
    const decoded = await waitFor('an answer in time', () => codec.decode(RECORD));
    expect(decoded).toEqual({ schema: SchemaName.jsonValue, value: { json: '{}' } });
  });

  it('that refuses our credentials is a matter of configuration; good ones are sent', async () => {
    const { url, codec, asked, answerWith } = await stub(json(401, { message: 'Unauthorized' }));
    await expect(codec.decode(RECORD)).rejects.toMatchObject({ code: 'REGISTRY_REFUSED', class: 'config' });
    answerWith(schemaFound);
    await createCodec({ registryUrl: url.replace('//', '//user:pass%40word@'), ...PATIENT }).decode(RECORD);
    expect(asked.at(-1)?.authorization).toBe(`Basic ${Buffer.from('user:pass@word').toString('base64')}`);
  });

  it('that holds something else than Avro under the id makes the record undecodable', async () => {
    const { codec } = await stub(json(200, { schemaType: 'JSON', schema: '{"type":"object"}' }));
    await expect(codec.decode(RECORD)).rejects.toMatchObject({ code: 'NOT_DECODABLE', class: 'data' });
  });

  it('D5: is not asked again for known ids while it is down', async () => {
    const { codec, asked, answerWith } = await stub(schemaFound);
    await codec.decode(RECORD);
    answerWith(json(500, { message: 'no' }));
    for (let record = 0; record < 1_000; record++) expect((await codec.decode(RECORD)).value).toEqual({ json: '{}' });
    expect(asked).toHaveLength(1);
  });

  it('D5: is asked once for an id that it does not know, however many records bear it', async () => {
    const { codec, asked } = await stub(schemaMissing);
    const refusals = await Promise.allSettled(Array.from({ length: 1_000 }, () => codec.decode(RECORD)));
    expect(refusals.every((refusal) => refusal.status === 'rejected')).toBe(true);
    await expect(codec.decode(RECORD)).rejects.toMatchObject({ code: 'UNKNOWN_SCHEMA_ID', class: 'data' });
    expect(asked.map(({ path }) => path)).toEqual(['/schemas/ids/7']);
  });
});
