/**
 * Is the service that answers at an address really the one, and ready?
 * The protocols are spoken by hand in a few bytes, because the launcher must run before any client is installed.
 * Each probe resolves to undefined when healthy, else to what is wrong, in words for a person.
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { ServiceName } from './config.ts';
import { messageOf } from './errors.ts';
import { PROBE_INTERVAL_MS, PROBE_TIMEOUT_MS } from './limits.ts';

export type Fault = string | undefined;

const PROBES: Record<ServiceName, (address: string) => Promise<Fault>> = {
  kafka: probeKafka,
  redis: probeRedis,
  postgres: probePostgres,
  registry: probeRegistry,
};

export async function probe(service: ServiceName, address: string): Promise<Fault> {
  try {
    return await PROBES[service](address);
  } catch (error) {
    return messageOf(error);
  }
}

/** Waits until the service is healthy, `isAlive` says that waiting is in vain, or the time is over. */
export async function waitHealthy(options: {
  service: ServiceName;
  address: string;
  timeoutMs: number;
  isAlive?: () => boolean;
}): Promise<Fault> {
  const deadline = performance.now() + options.timeoutMs;
  for (;;) {
    const alive = options.isAlive?.() ?? true;
    const fault = await probe(options.service, options.address);
    if (fault === undefined) return undefined;
    if (!alive) return `its process ended (${fault})`;
    if (performance.now() > deadline) return `not ready after ${options.timeoutMs / 1000} s: ${fault}`;
    await delay(PROBE_INTERVAL_MS);
  }
}

export function hostAndPort(address: string, portDefault: number): { host: string; port: number } {
  const url = new URL(address.includes('://') ? address : `tcp://${address}`);
  return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: url.port ? Number(url.port) : portDefault };
}

export async function isListening(port: number, host = '127.0.0.1'): Promise<boolean> {
  try {
    const socket = await open(host, port);
    socket.destroy();
    return true;
  } catch {
    return false;
  }
}

/** Metadata v4: a broker counts as ready when it lists itself, which it does only once the controller has unfenced it. */
async function probeKafka(addresses: string): Promise<Fault> {
  const first = addresses.split(',')[0]?.trim() ?? '';
  const { host, port } = hostAndPort(first, 9092);
  const clientId = Buffer.from('tidemark-stack');
  const header = Buffer.alloc(10);
  header.writeInt16BE(3, 0); // Metadata
  header.writeInt16BE(4, 2);
  header.writeInt32BE(1, 4); // correlation id
  header.writeInt16BE(clientId.length, 8);
  const body = Buffer.from([0, 0, 0, 0, 0]); // no topics, create none
  const length = Buffer.alloc(4);
  length.writeInt32BE(header.length + clientId.length + body.length);
  const answer = await ask(host, port, Buffer.concat([length, header, clientId, body]), (got) => got.length >= 16);
  const correlation = answer.readInt32BE(4);
  if (correlation !== 1) return 'something else than Kafka answers';
  return answer.readInt32BE(12) > 0 ? undefined : 'the broker is not registered yet';
}

async function probeRedis(url: string): Promise<Fault> {
  const { username, password } = new URL(url);
  const auth = password
    ? `AUTH ${username ? `${decodeURIComponent(username)} ` : ''}${decodeURIComponent(password)}\r\n`
    : '';
  const { host, port } = hostAndPort(url, 6379);
  const answer = await ask(host, port, Buffer.from(`${auth}PING\r\n`), (got) => {
    const text = got.toString('latin1');
    return /^[^+-]/.test(text) || /(^|\n)(\+PONG|-[^\r]*)\r\n/.test(text);
  });
  const text = answer.toString('latin1');
  if (/(^|\n)\+PONG/.test(text)) return undefined;
  return /^-[^\r]*/m.exec(text)?.[0] ?? 'something else than Redis answers';
}

/** The first packet of a session: a server that may be talked to asks for authentication ('R'), one that starts up refuses ('E'). */
async function probePostgres(url: string): Promise<Fault> {
  const { username, pathname } = new URL(url);
  const { host, port } = hostAndPort(url, 5432);
  const user = decodeURIComponent(username) || 'postgres';
  const database = decodeURIComponent(pathname.slice(1)) || user;
  const settings = Buffer.from(`user\0${user}\0database\0${database}\0\0`);
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + settings.length, 0);
  head.writeInt32BE(196_608, 4); // protocol 3.0
  const answer = await ask(
    host,
    port,
    Buffer.concat([head, settings]),
    (got) => got.length >= 5 && got.length > got.readInt32BE(1),
  );
  const kind = String.fromCharCode(answer[0] ?? 0);
  if (kind === 'R') return undefined;
  if (kind !== 'E') return 'something else than Postgres answers';
  const fields = answer.toString('utf8', 5).split('\0');
  return fields.find((field) => field.startsWith('M'))?.slice(1) ?? 'Postgres refuses the connection';
}

async function probeRegistry(url: string): Promise<Fault> {
  const subjects = `${url.replace(/\/$/, '')}/subjects`;
  const response = await fetch(subjects, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
  const body = await response.text();
  if (!response.ok) return `${subjects} answers ${response.status}`;
  return body.trimStart().startsWith('[') ? undefined : `${subjects} is not a schema registry`;
}

async function open(host: string, port: number): Promise<Socket> {
  const socket = connect({ host, port });
  socket.setTimeout(PROBE_TIMEOUT_MS, () =>
    socket.destroy(new Error(`no answer from ${host}:${port} within ${PROBE_TIMEOUT_MS} ms`)),
  );
  await once(socket, 'connect');
  return socket;
}

/** Sends one request and collects the answer until it is complete. */
export async function ask(
  host: string,
  port: number,
  request: Buffer,
  isComplete: (got: Buffer) => boolean,
): Promise<Buffer> {
  const socket = await open(host, port);
  try {
    socket.write(request);
    let got = Buffer.alloc(0);
    for await (const part of socket) {
      got = Buffer.concat([got, part as Buffer]);
      if (isComplete(got)) return got;
    }
    throw new Error(`${host}:${port} closed the connection`);
  } finally {
    socket.destroy();
  }
}
