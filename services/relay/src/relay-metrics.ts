/** The relay's rows of the metric table. Events and transactions are counted where they are committed; the lag is asked for. */
import { describeError, sleep } from '@tidemark/keyspace';
import type { Logger, Metrics } from '@tidemark/observability';
import type { OutboxReader } from '@tidemark/outbox';
import type { Progress } from './batches.ts';
import { LAG_EVERY_MS, LAG_REST } from './limits.ts';

export type RelayMetrics = Pick<
  Metrics,
  | 'relayEvents'
  | 'relayTransactions'
  | 'relayTransactionsEnded'
  | 'relayLagSeconds'
  | 'relayLagRows'
  | 'relayParkedKeys'
  | 'relayParkedRows'
>;

export interface LagWatch {
  /** How far this relay has published; undefined while that is another one's business. */
  at(progress: Progress | undefined): void;
  end(): Promise<void>;
}

/** Goes on while sessions fail: that is when the lag grows. A database that does not answer makes it unknown. */
export function watchLag({
  reader,
  metrics,
  logger,
}: {
  readonly reader: Pick<OutboxReader, 'backlog' | 'countTails'>;
  readonly metrics: RelayMetrics;
  readonly logger: Logger;
}): LagWatch {
  const ending = new AbortController();
  let progress: Progress | undefined;

  async function look(): Promise<Waiting> {
    if (progress === undefined) return UNKNOWN;
    const { position, parked } = progress;
    const { rows, lagMs } = await reader.backlog(position);
    const parkedRows = (await reader.countTails(position, [...parked.values()])).reduce((sum, count) => sum + count, 0);
    // Meanwhile another relay may have taken over.
    return progress === undefined ? UNKNOWN : { rows, seconds: (lagMs ?? 0) / 1_000, parkedRows };
  }

  function tell({ rows, seconds, parkedRows }: Waiting): void {
    metrics.relayLagRows.set(rows);
    metrics.relayLagSeconds.set(seconds);
    metrics.relayParkedRows.set(parkedRows);
  }

  async function watch(): Promise<void> {
    while (!ending.signal.aborted) {
      const startedMs = performance.now();
      const waiting = await look().catch((error: unknown) => {
        logger.debug({ error: describeError(error) }, 'lag.unknown');
        return UNKNOWN;
      });
      tell(waiting);
      // Rows of parked keys are looked for among all that came since and cannot be freed yet: mostly nothing, but not always.
      await sleep(Math.max(LAG_EVERY_MS, (performance.now() - startedMs) * LAG_REST), ending.signal);
    }
    tell(UNKNOWN);
  }

  const watching = watch();
  return {
    at(published) {
      progress = published;
      if (published === undefined) tell(UNKNOWN);
    },
    async end() {
      ending.abort();
      await watching;
    },
  };
}

/** What is committed and not published; the rows of parked keys apart. */
interface Waiting {
  readonly rows: number | undefined;
  readonly seconds: number | undefined;
  readonly parkedRows: number | undefined;
}

const UNKNOWN: Waiting = { rows: undefined, seconds: undefined, parkedRows: undefined };
