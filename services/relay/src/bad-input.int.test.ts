/** What a person gets to see when the relay cannot go on: one line that says what, where and what to do, and an exit code. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createCodec } from '@tidemark/contracts/registry';
import { exitCodeOf, silentLogger } from '@tidemark/observability';
import { publish } from '@tidemark/outbox/postgres';
import { services, waitFor } from '@tidemark/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { RelayState } from './relay.ts';
import { keysIn, openRelayTest, spawnRelay } from './testing/harness.ts';

it('a role without rights is told every GRANT, in one line and with its exit code', async () => {
  const { outbox, namespace } = await openRelayTest();
  const { client, schema } = outbox;
  const role = `bare_${namespace}`;
  await client.query(`create role "${role}" login password 'tidemark'`);
  onTestFinished(async () => void (await client.query(`drop role "${role}"`)));
  const url = new URL(outbox.url);
  url.username = role;
  url.password = 'tidemark';
  const bare = spawnRelay(namespace, { TIDEMARK_POSTGRES: url.toString() });
  expect(await bare.exit).toMatchObject({ code: 2 });
  expect(bare.lines.filter((line) => line.startsWith('tidemark relay:'))).toEqual([
    expect.stringMatching(
      new RegExp(`role "${role}" may not .* must run: grant usage on schema ${schema} to "${role}"; grant select`),
    ),
  ]);
  expect(bare.stderr()).not.toMatch(/^\s+at /m);
});

it('an outbox that is altered under a running relay stops it, with what was altered', async () => {
  const test = await openRelayTest();
  const { outbox, namespace, topic } = test;
  const relay = await test.startRelay();
  await publish(outbox.client, { namespace, topic, key: 'a', type: 'x', payload: '{}' });
  await waitFor('the row', () => relay.rowsPublished === 1);
  await outbox.client.query(`alter table ${outbox.schema}.outbox rename headers to heads`);
  const fault: unknown = await relay.ended.catch((error: unknown) => error);
  expect(exitCodeOf(fault)).toBe(2);
  expect(fault).toMatchObject({
    code: 'OUTBOX_UNFIT',
    class: 'config',
    message: expect.stringMatching(/column .*headers.*does not exist.*altered by hand/),
  });
  await expect(test.startRelay()).rejects.toMatchObject({
    message: expect.stringMatching(/column "headers" of .*\.outbox is missing; restore it/),
  });
  await outbox.client.query(`alter table ${outbox.schema}.outbox rename heads to headers`);
  await publish(outbox.client, { namespace, topic, key: 'b', type: 'x', payload: '{}' });
  const healed = await test.startRelay();
  await waitFor('the next row', () => healed.rowsPublished === 1);
  expect(await keysIn(test, topic)).toEqual(['a', 'b']);
});

/** Stands before the registry, and misbehaves when told to. */
async function registryInFront(): Promise<{ readonly url: string; behave(as: 'well' | 'away' | 'refusing'): void }> {
  let behaviour: 'well' | 'away' | 'refusing' = 'away';
  const server: Server = createServer((request, response) => {
    if (behaviour === 'away') return void request.socket.destroy();
    if (behaviour === 'refusing' && request.method === 'POST') {
      response.writeHead(409, { 'content-type': 'application/json' });
      return void response.end(
        '{"error_code": 409, "message": "Incompatible schema: READER_FIELD_MISSING_DEFAULT_VALUE"}',
      );
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const headers = { 'content-type': request.headers['content-type'] ?? 'application/json' };
      const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
      fetch(`${services().registry}${request.url}`, { method: request.method ?? 'GET', headers, ...body }).then(
        async (answer) =>
          response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text()),
        () => request.socket.destroy(),
      );
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    behave(as) {
      behaviour = as;
    },
  };
}

it('G5: a registry that is away is waited for, one that refuses our schema stops the relay; nothing is lost or sent twice', async () => {
  const test = await openRelayTest();
  const { outbox, namespace, topic } = test;
  const registry = await registryInFront();
  const codec = () => createCodec({ registryUrl: registry.url, requestTimeoutMs: 5_000, deadlineMs: 5_000 });
  await publish(outbox.client, { namespace, topic, key: 'a', type: 'x', payload: '{}' });
  const relay = await test.startRelay({ codec: codec() });
  await waitFor('a session that failed', () => relay.state === RelayState.failed);
  expect(await keysIn(test, topic)).toEqual([]);
  registry.behave('well');
  await waitFor('the row', () => relay.rowsPublished === 1);
  await relay.stop('test');

  registry.behave('refusing');
  await publish(outbox.client, { namespace, topic, key: 'b', type: 'x', payload: '{}' });
  const refused = await test.startRelay({ codec: codec() });
  const refusal: unknown = await refused.ended.catch((error: unknown) => error);
  expect(exitCodeOf(refusal)).toBe(2);
  expect(refusal).toMatchObject({
    code: 'INCOMPATIBLE_SCHEMA',
    class: 'config',
    message: expect.stringMatching(
      /registering dev\.tidemark\.\w+: the registry at http:.* refuses the schema as incompatible .*READER_FIELD/,
    ),
  });
  registry.behave('well');
  const healed = await test.startRelay({ codec: codec() });
  await waitFor('the row that was kept', () => healed.rowsPublished === 1);
  expect(await keysIn(test, topic)).toEqual(['a', 'b']);
});

it('P9: a captured table whose trigger was switched off is named at once', async () => {
  const test = await openRelayTest();
  const { client, schema } = test.outbox;
  await client.query(`create table ${schema}.t (id int primary key)`);
  await client.query(`select ${schema}.attach('${schema}.t', '${test.topic}')`);
  await client.query(`alter table ${schema}.t disable trigger all`);
  const logged: unknown[] = [];
  const logger = { ...silentLogger, error: (fields: unknown, event: unknown) => void logged.push([event, fields]) };
  await test.startRelay({ logger: logger as typeof silentLogger });
  await waitFor('it to be named', () => logged.length > 0);
  expect(logged).toEqual([
    [
      'table.untold',
      expect.objectContaining({ table: `${test.namespace}.t`, fault: 'its capture trigger is disabled' }),
    ],
  ]);
});
