/** A tiny listener for probes and scrapes: /livez, /readyz, /metrics. It tells numbers and reasons, no data; read-only. */
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describeError, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { PROBE_REQUEST_MS } from './limits.ts';
import type { MetricSet } from './metrics.ts';

const TEXT = 'text/plain; charset=utf-8';

/** Ready, or the reasons why not. */
export type Readiness =
  | { readonly kind: 'ready' }
  | { readonly kind: 'not ready'; readonly reasons: readonly string[] };

export interface HealthListenerOptions {
  /** 0 = off; `any` = a free one, for tests. */
  readonly port: number | 'any';
  readonly host: string;
  readonly metricSet: MetricSet;
  /** Without it the program is ready as long as it lives. */
  readonly readiness?: () => Readiness;
}

export interface HealthListener {
  /** 0 when it is off. */
  readonly port: number;
  close(): Promise<void>;
}

/** Rejects with TidemarkError `config` (PORT_UNUSABLE) when the port cannot be had. */
export async function startHealthListener(options: HealthListenerOptions): Promise<HealthListener> {
  if (options.port === 0) return { port: 0, close: () => Promise.resolve() };
  // Loading it loads the WebSocket of Node with it: 50 ms that commands without a listener need not spend.
  const { createServer } = await import('node:http');
  const server = createServer(
    { requestTimeout: PROBE_REQUEST_MS, headersTimeout: PROBE_REQUEST_MS },
    (request, response) => {
      void answer(options, request.method ?? '', request.url ?? '', response);
    },
  );
  const port = options.port === 'any' ? 0 : options.port;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(portUnusable(options, error)));
    server.listen({ port, host: options.host }, resolve);
  });
  return {
    port: portOf(server.address()),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function portUnusable(options: HealthListenerOptions, cause: Error): TidemarkError {
  const message = `cannot listen on ${options.host}:${options.port} for /metrics: ${describeError(cause)}; set TIDEMARK_METRICS_PORT to a free port or to 0`;
  return new TidemarkError({ code: 'PORT_UNUSABLE', class: ErrorClass.config, message, cause });
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function answer(
  options: HealthListenerOptions,
  method: string,
  url: string,
  response: ServerResponse,
): Promise<void> {
  if (method !== 'GET' && method !== 'HEAD') return send(response, 405, TEXT, 'only GET\n');
  const [path] = url.split('?');
  if (path === '/livez') return send(response, 200, TEXT, 'ok\n');
  if (path === '/readyz') {
    const readiness = options.readiness?.() ?? { kind: 'ready' };
    if (readiness.kind === 'ready') return send(response, 200, TEXT, 'ok\n');
    return send(response, 503, TEXT, `${readiness.reasons.join('\n')}\n`);
  }
  if (path !== '/metrics') return send(response, 404, TEXT, '/livez, /readyz, /metrics\n');
  try {
    const { contentType, page } = await options.metricSet.render();
    send(response, 200, contentType, page);
  } catch (error) {
    send(response, 500, TEXT, `${describeError(error)}\n`);
  }
}

function send(response: ServerResponse, status: number, contentType: string, body: string): void {
  response.writeHead(status, {
    'content-type': contentType,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
}
