/** The console as a whole: connections, one collector, one server. */
import type { Logger } from '@tidemark/observability';
import { createCollector } from './collect/collector.ts';
import { createJobDetails } from './collect/job-details.ts';
import { createLetterIndex } from './collect/letter-groups.ts';
import { type ConnectionOptions, openParts } from './collect/parts.ts';
import { createRoles, type Operator } from './http/roles.ts';
import { createServer, listen } from './http/server.ts';
import { PORT_DEFAULT } from './limits.ts';
import { createConsoleMetrics } from './metrics/console-metrics.ts';

export interface ConsoleOptions extends Omit<ConnectionOptions, 'relay'> {
  readonly logger: Logger;
  /** Who may change something; default nobody. */
  readonly operators?: readonly Operator[];
  /** Default `main`. */
  readonly relay?: string;
  /** Default 127.0.0.1; only loopback addresses are taken. */
  readonly host?: string;
  /** 0 = a free one. */
  readonly port?: number;
}

export interface Console {
  readonly port: number;
  /** Where people open it. */
  readonly url: string;
  /** Idempotent. */
  stop(reason: string): Promise<void>;
}

/**
 * Resolves when pages are served, whether or not the services are up: it is there to tell. Throws TidemarkError `config`
 * for a host that is not loopback and for a port that is taken.
 */
export async function startConsole(options: ConsoleOptions): Promise<Console> {
  const { logger, namespace, relay = 'main', host = '127.0.0.1', operators = [] } = options;
  const parts = openParts({ ...options, relay });
  const collector = createCollector({ parts, logger });
  const details = createJobDetails(parts);
  const metrics = createConsoleMetrics(relay);
  const roles = createRoles(operators);
  const letters = createLetterIndex(parts);
  const server = await createServer({ collector, details, letters, metrics, parts, roles, namespace, relay, logger });
  let stopping: Promise<void> | undefined;

  async function close(): Promise<void> {
    await server.close();
    await collector.close();
    await parts.close();
  }

  try {
    const port = await listen(server, { host, port: options.port ?? PORT_DEFAULT });
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/`;
    logger.info({ url }, 'console.listening');
    return {
      port,
      url,
      stop(reason) {
        if (stopping === undefined) logger.info({ reason }, 'console.stopping');
        stopping ??= close();
        return stopping;
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}
