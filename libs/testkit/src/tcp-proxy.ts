/**
 * A wire between a client and a service that a test can cut, or let swallow everything, at any piece of bytes that passes.
 * Most requests and answers of a few kilobytes are one piece.
 */
import { connect, createServer, type Socket } from 'node:net';

export interface Piece {
  readonly wire: Wire;
  readonly direction: 'request' | 'answer';
  readonly bytes: Buffer;
}

/** One connection of a client. */
export interface Wire {
  /** What the client sent first: the startup packet of Postgres says who it is. */
  readonly opening: Buffer;
  /** Ends both sides at once, without a goodbye. */
  cut(): void;
  /** From now on nothing passes, and nobody is told. */
  swallow(): void;
}

export interface TcpProxy {
  readonly host: string;
  readonly port: number;
  readonly wires: ReadonlySet<Wire>;
  /** Where new connections lead from now on. */
  lead(target: { readonly host: string; readonly port: number }): void;
  close(): Promise<void>;
}

export interface ProxyOptions {
  readonly target: { readonly host: string; readonly port: number };
  /** Before a piece is passed on: may cut its wire, or return other bytes of the same length. */
  readonly onPiece?: (piece: Piece) => Buffer | undefined;
}

const HOST = '127.0.0.1';

export async function tcpProxy(options: ProxyOptions): Promise<TcpProxy> {
  const { onPiece = () => undefined } = options;
  const wires = new Set<Wire>();
  let { target } = options;
  const server = createServer((client) => {
    const service = connect(target);
    const wire = join(client, service, onPiece);
    wires.add(wire);
    client.once('close', () => wires.delete(wire));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, HOST, resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    host: HOST,
    port: address.port,
    wires,
    lead(other) {
      target = other;
    },
    async close() {
      for (const wire of wires) wire.cut();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}

function join(client: Socket, service: Socket, onPiece: NonNullable<ProxyOptions['onPiece']>): Wire {
  let opening: Buffer | undefined;
  let isSwallowed = false;
  const wire: Wire = {
    get opening() {
      return opening ?? Buffer.alloc(0);
    },
    cut() {
      client.destroy();
      service.destroy();
    },
    swallow() {
      isSwallowed = true;
    },
  };
  const pass = (from: Socket, to: Socket, direction: Piece['direction']): void => {
    from.setNoDelay(true);
    from.on('data', (bytes) => {
      if (direction === 'request') opening ??= bytes;
      if (isSwallowed) return;
      const passed = onPiece({ wire, direction, bytes }) ?? bytes;
      if (!isSwallowed && !to.destroyed) to.write(passed);
    });
    // Whoever ends its side, or breaks down, ends the other; but of a wire that swallows nobody hears.
    from.on('close', () => {
      if (!isSwallowed || direction === 'request') to.destroy();
    });
    from.on('error', () => {});
  };
  pass(client, service, 'request');
  pass(service, client, 'answer');
  return wire;
}
