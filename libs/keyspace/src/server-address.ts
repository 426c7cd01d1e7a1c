/** Where a server is, from what people write: a URL, or host:port. What is made of it holds no user and no password. */

const DEFAULT_PORTS: Readonly<Record<string, number>> = {
  'postgres:': 5432,
  'postgresql:': 5432,
  'redis:': 6379,
  'rediss:': 6379,
  'http:': 80,
  'https:': 443,
};
const KAFKA_PORT = 9092;

export interface ServerAddress {
  /** An IPv6 address is without its brackets, as sockets take it. */
  readonly host: string;
  readonly port: number;
}

/** Throws a TypeError for text that is neither. */
export function serverAddress(text: string): ServerAddress {
  const { protocol, hostname, port } = new URL(text.includes('://') ? text : `tcp://${text}`);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return { host, port: Number(port || (DEFAULT_PORTS[protocol] ?? KAFKA_PORT)) };
}

/** `host:port`, for messages. */
export function describeServer(text: string): string {
  const { host, port } = serverAddress(text);
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
