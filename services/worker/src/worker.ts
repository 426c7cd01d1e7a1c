/**
 * A worker: slots that traverse ranges, an announcement every few seconds, and an orderly end.
 *
 *   running --stop(reason)--> stopping --(slots drained, or the grace is over)--> stopped
 *      '--(a slot hit a bug)--> `ended` rejects; whoever runs the worker stops it
 */

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Codec } from '@tidemark/contracts';
import type { CursorStore, Schedule } from '@tidemark/cursors';
import type { Handler } from '@tidemark/handlers';
import { sleep } from '@tidemark/keyspace';
import type { LogCluster } from '@tidemark/log';
import { type Logger, silentLogger } from '@tidemark/observability';
import { type Clock, systemClock } from './clock.ts';
import { DeadLetters } from './dead-letters/dead-letters.ts';
import { BlockingCalls } from './handlers/blocking-calls.ts';
import { HandlerSet } from './handlers/handler-set.ts';
import {
  ANNOUNCE_MS,
  DEAD_LETTER_RETENTION_MS,
  JOB_FORMAT_MAX,
  LEASE_TTL_MS,
  SLOTS_DEFAULT,
  STOP_GRACE_MS,
  STOP_REST_MS,
  TIME_SLICE_MS,
} from './limits.ts';
import { Breakers } from './pace/breakers.ts';
import { Turns } from './pace/turns.ts';
import { FencedRanges } from './range/fenced-ranges.ts';
import { Slot, type SlotState } from './slot.ts';
import { Doorbell } from './work/doorbell.ts';
import { WorkFinder } from './work/find-work.ts';
import { Permits } from './work/permits.ts';
import type { WorkerMetrics } from './worker-metrics.ts';

/** Cluster, codec, store and schedule belong to the caller, who closes them after `stop`. */
export interface WorkerOptions {
  readonly cluster: LogCluster;
  readonly codec: Codec;
  readonly store: CursorStore;
  readonly schedule: Schedule;
  readonly handlers: Iterable<Handler>;
  readonly slots?: number;
  /** Ranges at the same time over all workers and jobs, the same number for each worker; 0 = no limit. */
  readonly rangesMax?: number;
  /** The newest format of a job that this worker understands; jobs in a newer one are left to others. */
  readonly formatMax?: number;
  /** Unique among live processes. */
  readonly workerId?: string;
  readonly leaseTtlMs?: number;
  readonly timeSliceMs?: number;
  readonly pollMs?: number;
  readonly stopGraceMs?: number;
  /** Of dead-letter topics that have to be created. */
  readonly replicationFactor?: number;
  /** Of the same, in milliseconds; -1 = for ever. */
  readonly deadLetterRetentionMs?: number;
  readonly logger?: Logger;
  readonly metrics?: WorkerMetrics;
  readonly clock?: Clock;
  readonly random?: () => number;
}

export interface WorkerState {
  readonly phase: 'running' | 'stopping' | 'stopped';
  readonly workerId: string;
  readonly slots: readonly SlotState[];
}

export interface Worker {
  readonly state: WorkerState;
  /** Rejects when a slot hit a bug: this process must not go on. Resolves after `stop`. */
  readonly ended: Promise<void>;
  /** Idempotent. Starts no further record, advances over what is settled, gives the leases back. */
  stop(reason: string): Promise<void>;
}

/** Throws TidemarkError `config` for handlers of one name, `unavailable` when the schedule cannot be reached. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { schedule, logger = silentLogger, clock = systemClock, random = Math.random } = options;
  const leaseTtlMs = options.leaseTtlMs ?? LEASE_TTL_MS;
  const workerId = options.workerId ?? `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const stopping = new AbortController();
  const abandon = new AbortController();
  const doorbell = new Doorbell();
  const handlers = new HandlerSet(options.handlers);
  const { cluster, replicationFactor = 1, deadLetterRetentionMs: retentionMs = DEAD_LETTER_RETENTION_MS } = options;
  const deadLetters = new DeadLetters({ cluster, replicationFactor, retentionMs });
  const breakers = new Breakers({ clock, random, logger });
  const turns = new Turns();
  const permits = new Permits({ schedule, rangesMax: options.rangesMax ?? 0, leaseTtlMs, logger });
  const formatMax = options.formatMax ?? JOB_FORMAT_MAX;
  const looking = { schedule, store: options.store, handlers, permits, breakers, turns };
  const finder = new WorkFinder({ ...looking, leaseTtlMs, formatMax, clock, logger });
  let busy = 0;
  const onBusy = (change: 1 | -1): void => {
    busy += change;
    options.metrics?.slotsBusy.set(busy);
  };
  options.metrics?.slotsBusy.set(0);
  const shared = {
    ...options,
    metrics: options.metrics,
    onBusy,
    finder,
    handlers,
    deadLetters,
    blockingCalls: new BlockingCalls({ leaseTtlMs, logger }),
    fencedRanges: new FencedRanges(),
    breakers,
    turns,
    doorbell,
    leaseTtlMs,
    clock,
    random,
    logger,
  };
  const signals = { stop: stopping.signal, abandon: abandon.signal };
  const timeSliceMs = options.timeSliceMs ?? TIME_SLICE_MS;
  const slots = Array.from(
    { length: options.slots ?? SLOTS_DEFAULT },
    (_, index) => new Slot(`${workerId}/${index}`, { ...shared, ...signals, timeSliceMs }),
  );

  const announcement = {
    workerId,
    host: hostname(),
    pid: process.pid,
    handlers: handlers.all().map(({ name, idempotent }) => ({ name, idempotent })),
    slots: slots.length,
  };
  await schedule.announce(announcement);
  const unsubscribe = await schedule.onWake(() => {
    turns.rung();
    doorbell.ring();
  });
  const announcing = keepAnnouncing(() => schedule.announce(announcement), stopping.signal, logger);
  const runs = slots.map((slot) => slot.run());
  const working = Promise.all(runs).then(() => undefined);

  let phase: WorkerState['phase'] = 'running';
  const drain = async (reason: string): Promise<void> => {
    phase = 'stopping';
    logger.info({ workerId, reason }, 'worker.stopping');
    stopping.abort();
    const graceMs = options.stopGraceMs ?? STOP_GRACE_MS;
    const drained = new AbortController();
    const slotsEnded = Promise.allSettled(runs).then(() => drained.abort());
    await sleep(graceMs, drained.signal);
    abandon.abort();
    // A store that does not answer must not hold the exit up: leases that were not given back end by themselves.
    await Promise.race([slotsEnded, sleep(STOP_REST_MS, drained.signal)]);
    await Promise.allSettled([announcing, unsubscribe(), deadLetters.close(), handlers.close(logger)]);
    phase = 'stopped';
    logger.info({ workerId, reason }, 'worker.stopped');
  };
  let stopped: Promise<void> | undefined;
  return {
    get state() {
      return { phase, workerId, slots: slots.map((slot) => slot.state) };
    },
    ended: working,
    stop(reason) {
      stopped ??= drain(reason);
      return stopped;
    },
  };
}

/** Operators see who lives; losing an announcement delays that view and nothing else. */
async function keepAnnouncing(announce: () => Promise<void>, stop: AbortSignal, logger: Logger): Promise<void> {
  while (!stop.aborted) {
    await sleep(ANNOUNCE_MS, stop);
    if (stop.aborted) return;
    try {
      await announce();
    } catch (error) {
      logger.debug({ error }, 'worker.announce_failed');
    }
  }
}
