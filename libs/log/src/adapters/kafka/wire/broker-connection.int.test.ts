/** How a connection takes what a healthy broker never does: the other end is scripted. */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { BrokerConnection } from './broker-connection.ts';

const API = { key: 3, version: 12 };

let server: Server | undefined;
afterEach(async () => {
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
});

/** Calls `act` with the requests that came so far, each time one came whole. */
async function connectedTo(act: (requests: readonly Buffer[], socket: Socket) => void): Promise<BrokerConnection> {
  server = createServer((socket) => {
    let bytes = Buffer.alloc(0);
    const requests: Buffer[] = [];
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      bytes = Buffer.concat([bytes, data]);
      while (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE(0)) {
        requests.push(bytes.subarray(4, 4 + bytes.readInt32BE(0)));
        bytes = bytes.subarray(4 + bytes.readInt32BE(0));
        act(requests, socket);
      }
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const connection = new BrokerConnection({ host: '127.0.0.1', port }, 'tidemark-test');
  await connection.connected;
  return connection;
}

function correlationIdOf(request: Buffer | undefined): number {
  return request?.readInt32BE(4) ?? -1;
}

function answer(correlationId: number, value: number): Buffer {
  const frame = Buffer.alloc(13);
  frame.writeInt32BE(9, 0);
  frame.writeInt32BE(correlationId, 4);
  frame.writeInt32BE(value, 9); // after one byte: no tagged fields
  return frame;
}

it('gives each of several requests under way its own answer', async () => {
  const connection = await connectedTo((requests, socket) => {
    if (requests.length === 3) socket.write(Buffer.concat(requests.map((r, at) => answer(correlationIdOf(r), at))));
  });
  const asked = [10, 11, 12].map((value) => connection.request(API, (body) => body.int32(value)));
  expect((await Promise.all(asked)).map((body) => body.int32())).toEqual([0, 1, 2]);
  expect(connection.usable).toBe(true);
  await connection.close();
});

it('fails all that is under way when the broker goes away inside an answer', async () => {
  const connection = await connectedTo((requests, socket) => {
    if (requests.length === 2) socket.end(answer(correlationIdOf(requests[0]), 0).subarray(0, 7));
  });
  const asked = [1, 2].map(() => connection.request(API, () => undefined));
  for (const { status } of await Promise.allSettled(asked)) expect(status).toBe('rejected');
  await expect(connection.request(API, () => undefined)).rejects.toThrow('the broker closed the connection');
  expect([connection.ended, connection.usable]).toEqual([true, false]);
  await connection.close();
});

it('believes no answer to a request that is not the oldest', async () => {
  const connection = await connectedTo((requests, socket) => {
    if (requests.length === 2) socket.write(answer(correlationIdOf(requests[1]), 0));
  });
  const asked = [1, 2].map(() => connection.request(API, () => undefined));
  for (const { status } of await Promise.allSettled(asked)) expect(status).toBe('rejected');
  expect(connection.ended).toBe(true);
  await connection.close();
});

it('says that the other end is no Kafka broker', async () => {
  const connection = await connectedTo((_, socket) => void socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'));
  await expect(connection.request(API, () => undefined)).rejects.toThrow('is this a Kafka broker');
  await connection.close();
});

it('fails what is under way when it is closed', async () => {
  const connection = await connectedTo(() => undefined);
  const asked = connection.request(API, () => undefined);
  const outcome = expect(asked).rejects.toThrow('the connection was closed');
  await connection.close();
  await outcome;
});

it('says why there is no connection', async () => {
  // Nobody listens on port 1.
  const connection = new BrokerConnection({ host: '127.0.0.1', port: 1 }, 'tidemark-test');
  await expect(connection.connected).rejects.toThrow('ECONNREFUSED');
  await connection.close();
});
