import { createServer } from 'node:net';
import { PRIVATE_PORT_COUNT, PRIVATE_PORT_FIRST } from './limits.ts';

/** A service listens seconds after its port was drawn, and meanwhile nobody else may draw it: neither here … */
const drawn = new Set<number>();

/** … nor in another worker of the test runner, each of which draws every so many-th port. */
const WORKERS_MAX = 16;
const OWN = Number(process.env['VITEST_POOL_ID'] ?? 0) % WORKERS_MAX;

/** Ports that nobody listens on. Two runs on one machine hardly draw the same one of thousands. */
export async function freePorts(count: 1): Promise<[number]>;
export async function freePorts(count: 2): Promise<[number, number]>;
export async function freePorts(count: 4): Promise<[number, number, number, number]>;
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    const port =
      PRIVATE_PORT_FIRST + OWN + WORKERS_MAX * Math.floor(Math.random() * (PRIVATE_PORT_COUNT / WORKERS_MAX));
    if (drawn.has(port)) continue;
    drawn.add(port);
    if (await canListen(port)) ports.push(port);
  }
  return ports;
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
