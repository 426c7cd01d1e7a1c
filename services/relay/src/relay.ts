/**
 * The relay: takes turns with its rivals by a lease, and runs sessions while it has it.
 *
 *   standby --lease granted, session open--> publishing --lease lost--> standby
 *                                  |  ^
 *              any error that time | | new session, after a pause
 *                    or a rival may v |
 *                     heal         failed         any other error: stopped, with that error
 *
 * The lease spares the rivals a fight. That nothing is lost or sent twice rests on the session alone (session.ts).
 */
import type { Codec } from '@tidemark/contracts';
import { jobTopicSpecs, jobTopics } from '@tidemark/jobs';
import { assertNever, backoff, describeError, ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import type { LogCluster } from '@tidemark/log';
import { type Logger, silentLogger } from '@tidemark/observability';
import { type LeaseAnswer, type Outbox, type RetryWish, snapshotText } from '@tidemark/outbox';
import type { Progress } from './batches.ts';
import { BATCH_REFUSED } from './commit.ts';
import { startHousekeeping } from './housekeeping.ts';
import { LEASE_RENEWALS_PER_TTL, LEASE_TTL_MS, POLL_MS, RETRY_BASE_MS, RETRY_MS_MAX } from './limits.ts';
import { createPace } from './pace.ts';
import { NOTHING_PARKED, type ParkedKeys } from './parked-keys.ts';
import { positionTopicSpec } from './position-topic.ts';
import { type RelayMetrics, watchLag } from './relay-metrics.ts';
import { createRetryPace } from './retry-pace.ts';
import { runSession } from './session.ts';
import { createSuspects } from './suspects.ts';

export interface RelayOptions {
  readonly outbox: Outbox;
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly namespace: string;
  /** Default `main`. */
  readonly name?: string;
  readonly leaseTtlMs?: number;
  readonly pollMs?: number;
  /** Of our own topics, where they do not exist yet. */
  readonly replicationFactor?: number;
  readonly logger?: Logger;
  readonly metrics?: RelayMetrics;
  /** In [0, 1), for the pauses between sessions. */
  readonly random?: () => number;
}

export const RelayState = {
  standby: 'standby',
  publishing: 'publishing',
  failed: 'failed',
  stopped: 'stopped',
} as const;
export type RelayState = (typeof RelayState)[keyof typeof RelayState];

export interface Relay {
  readonly state: RelayState;
  /** Rows published by this process. */
  readonly rowsPublished: number;
  /** Rejects with the error that stopped it; resolves after `stop`. */
  readonly ended: Promise<void>;
  /** Idempotent. The outbox and the cluster stay open: they are the caller's. */
  stop(reason: string): Promise<void>;
}

/** Resolves when the outbox and our topics were found fit. Throws `config` when a person must act, `unavailable` when a service is down. */
export async function startRelay(options: RelayOptions): Promise<Relay> {
  const { outbox, cluster, namespace, replicationFactor = 1 } = options;
  await outbox.reader.checkInstalled();
  await outbox.reader.state();
  await cluster.catalog.ensure(positionTopicSpec(namespace, replicationFactor));
  await cluster.catalog.ensure(jobTopicSpecs(namespace, replicationFactor).jobs);
  return supervise(options);
}

function supervise(options: RelayOptions): Relay {
  const {
    outbox,
    cluster,
    codec,
    namespace,
    name = 'main',
    leaseTtlMs = LEASE_TTL_MS,
    pollMs = POLL_MS,
    logger = silentLogger,
    metrics,
    random = Math.random,
  } = options;
  const stopping = new AbortController();
  const envelope = { codec, source: `/tidemark/${namespace}/outbox`, jobsTopic: jobTopics(namespace).jobs };
  const pace = createPace(outbox.hints, pollMs);
  const suspects = createSuspects();
  const retryPace = createRetryPace(Math.random);
  const lag = metrics === undefined ? undefined : watchLag({ reader: outbox.reader, metrics, logger });
  let state: RelayState = RelayState.standby;
  let rowsPublished = 0;
  let failures = 0;
  let parked: ParkedKeys = NOTHING_PARKED;

  /** What is published, and kept for later; undefined while that is another one's business. */
  function note(progress: Progress | undefined): void {
    lag?.at(progress);
    parked = progress?.parked ?? NOTHING_PARKED;
    metrics?.relayParkedKeys.set(progress?.parked.size);
  }

  async function publish(granted: Extract<LeaseAnswer, { kind: 'granted' }>): Promise<void> {
    const onWish = (wish: RetryWish) => retryPace.hasten(parked, wish);
    const housekeeping = startHousekeeping(outbox, { leaseTtlMs, logger, onWish });
    const parts = { outbox, cluster, codec, namespace, name, envelope, pace, logger, metrics, suspects, retryPace };
    try {
      await runSession(
        {
          ...parts,
          onOpened({ progress, isStored }) {
            note(progress);
            // Of the place where a first session begins nothing is in Kafka yet: a witness of it would speak of a lost position.
            if (isStored) housekeeping.published(progress);
            const { snapshot, window } = progress.position;
            const place = window?.place ?? 0n;
            enter(RelayState.publishing, { term: granted.term, snapshot: snapshotText(snapshot), place });
          },
          onPublished({ rows, progress }) {
            failures = 0;
            rowsPublished += rows;
            housekeeping.published(progress);
            note(progress);
          },
        },
        granted.published,
        AbortSignal.any([stopping.signal, housekeeping.leaseLost]),
      );
    } finally {
      await housekeeping.end();
    }
  }

  async function takeTurn(): Promise<void> {
    const answer = await outbox.lease.acquire(leaseTtlMs);
    if (answer.kind === 'granted') return publish(answer);
    enter(RelayState.standby, { owner: answer.owner });
    note(undefined);
    await sleep(Math.min(Math.max(answer.expiresInMs, 1), leaseTtlMs / LEASE_RENEWALS_PER_TTL), stopping.signal);
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await takeTurn();
      } catch (error) {
        if (stopping.signal.aborted) break;
        if (!mayHeal(error)) throw error;
        // Half of a batch is another question, and time does not answer it.
        failures = isRefusal(error) ? 1 : failures + 1;
        const waitMs = backoff({ baseMs: RETRY_BASE_MS, maxMs: RETRY_MS_MAX, attempt: failures, random });
        logger.warn({ error, failures, waitMs }, 'session.failed');
        enter(RelayState.failed);
        await sleep(waitMs, stopping.signal);
      }
    }
  }

  function enter(next: RelayState, fields: Readonly<Record<string, unknown>> = {}): void {
    if (next === state && next !== RelayState.publishing) return;
    state = next;
    logger.info({ state, ...fields }, 'relay.state');
  }

  async function finish(): Promise<void> {
    try {
      await run();
    } finally {
      state = RelayState.stopped;
      note(undefined);
      await lag?.end();
      // Whoever waits for the lease need not wait for its end. If this fails, it ends by itself.
      await outbox.lease
        .release()
        .catch((error: unknown) => logger.debug({ error: describeError(error) }, 'lease.not_released'));
    }
  }

  const ended = finish();
  ended.catch(() => {});
  return {
    get state() {
      return state;
    },
    get rowsPublished() {
      return rowsPublished;
    },
    ended,
    async stop(reason) {
      if (!stopping.signal.aborted) logger.info({ reason }, 'relay.stopping');
      stopping.abort();
      await ended.catch(() => {});
    },
  };
}

function isRefusal(error: unknown): boolean {
  return error instanceof TidemarkError && error.code === BATCH_REFUSED;
}

/** Whether time, or a rival that is newer, may end the trouble. Anything else needs a person. */
function mayHeal(error: unknown): boolean {
  if (!(error instanceof TidemarkError)) return false;
  // There was a primary at the start: a failover is under way, and its promotion not over.
  if (error.code === 'STANDBY') return true;
  switch (error.class) {
    case ErrorClass.transient:
    case ErrorClass.unavailable:
    case ErrorClass.fenced:
      return true;
    case ErrorClass.data:
    case ErrorClass.lost:
    case ErrorClass.config:
    case ErrorClass.bug:
      return false;
    default:
      return assertNever(error.class);
  }
}
