import { createServer } from 'node:net';
import { PRIVATE_PORT_COUNT, PRIVATE_PORT_FIRST } from './limits.ts';

/** Ports that nobody listens on. Two callers hardly draw the same one of 12,000, and then one of their services does not start. */
export async function freePorts(count: 1): Promise<[number]>;
export async function freePorts(count: 2): Promise<[number, number]>;
export async function freePorts(count: 4): Promise<[number, number, number, number]>;
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = PRIVATE_PORT_FIRST + Math.floor(Math.random() * PRIVATE_PORT_COUNT);
    if (await canListen(port)) ports.add(port);
  }
  return [...ports];
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
