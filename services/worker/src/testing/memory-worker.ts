/** Workers on the in-memory log and store. For tests. */
import { createMemoryCodec } from '@tidemark/contracts/testing';
import type { Schedule } from '@tidemark/cursors';
import { createMemoryCursorStore, createMemorySchedule, type MemoryCursorStore } from '@tidemark/cursors/testing';
import type { Handler } from '@tidemark/handlers';
import { createMemoryCluster, type MemoryCluster } from '@tidemark/log/testing';
import { onTestFinished } from 'vitest';
import { TIME_SLICE_MS } from '../limits.ts';
import { startWorker, type Worker, type WorkerOptions } from '../worker.ts';
import { fastClock } from './fast-clock.ts';
import { type InstalledJob, type InstallOptions, installJob } from './install-job.ts';

export interface MemoryBench {
  readonly cluster: MemoryCluster;
  readonly store: MemoryCursorStore;
  readonly schedule: Schedule;
  /** The store's clock. */
  nowMs(): number;
  append(
    topic: string,
    values: readonly (string | { readonly key: string | null; readonly value: string })[],
    partition?: number,
  ): Promise<void>;
  install(options: Omit<InstallOptions, 'catalog' | 'store' | 'schedule'>): Promise<InstalledJob>;
  /** `store` stands between the worker and the one of the bench. */
  work(handlers: readonly Handler[], options?: Partial<WorkerOptions>): Promise<Worker>;
}

/** On the wall's clock: no machine is so busy that a living worker loses it. */
const LEASE_TTL_MS = 240_000;
/** The store grants none that is longer. */
const GRANTED_MS_MAX = 3_600_000;

/** Leases and due times pass `speed` times as fast as the clock on the wall. */
export function memoryBench({ speed = 1 }: { readonly speed?: number } = {}): MemoryBench {
  const clock = fastClock(speed);
  const cluster = createMemoryCluster();
  const store = createMemoryCursorStore({ now: clock.nowMs });
  const schedule = createMemorySchedule({ now: clock.nowMs });
  const workers: Worker[] = [];
  onTestFinished(async () => {
    await Promise.all(workers.map((worker) => worker.stop('test over')));
    await Promise.all([store.close(), schedule.close(), cluster.close()]);
  });
  return {
    cluster,
    store,
    schedule,
    nowMs: clock.nowMs,
    async append(topic, values, partition = 0) {
      const keyed = values.map((value) => (typeof value === 'string' ? { key: null, value } : value));
      const writer = await cluster.openWriter();
      await writer.append(
        keyed.map(({ key, value }) => ({
          topic,
          partition,
          key: key === null ? null : Buffer.from(key),
          value: Buffer.from(value),
        })),
      );
      await writer.close();
    },
    install: (options) => installJob({ ...options, catalog: cluster.catalog, store, schedule }),
    async work(handlers, options = {}) {
      // Pauses of no length, and a poll that need not be waited for; but nothing is taken away sooner than by the wall's clock.
      const leaseTtlMs = Math.min(LEASE_TTL_MS * speed, GRANTED_MS_MAX);
      const lasting = { leaseTtlMs, timeSliceMs: TIME_SLICE_MS * speed };
      const fast = { pollMs: 5, random: () => 0, slots: 1, clock, ...lasting };
      const worker = await startWorker({
        cluster,
        codec: createMemoryCodec(),
        store,
        schedule,
        handlers,
        ...fast,
        ...options,
      });
      workers.push(worker);
      return worker;
    },
  };
}
