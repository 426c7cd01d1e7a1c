/** Real outages of private services under a running distributor. */
import { isTerminal } from '@tidemark/jobs';
import { toOffset } from '@tidemark/keyspace';
import { type Logger, silentLogger } from '@tidemark/observability';
import { privateKafka, privateRedis, services, waitFor } from '@tidemark/testkit';
import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { Rig } from './testing/rig.ts';
import { checkpointed, firstRange } from './testing/scenario-looks.ts';
import { createServiceParts } from './testing/service-parts.ts';

/** An outage of some seconds, so that several retries fall into it. */
const OUTAGE_MS = 4_000;
/** A broker is started twice, each time for a minute or more on a loaded machine. */
const TWO_STARTS_TIMEOUT_MS = 600_000;

function listeningLogger(): Logger & { readonly lines: string[] } {
  const lines: string[] = [];
  const line = (fields: object | string, event?: string): void =>
    void lines.push(event ?? (typeof fields === 'string' ? fields : ''));
  return { debug: () => undefined, info: line, warn: line, error: line, lines, child: () => silentLogger };
}

const values = (count: number) => Array.from({ length: count }, (_, index) => String(index));
const outage = () => new Promise((resolve) => setTimeout(resolve, OUTAGE_MS));

async function stateOf(rig: Rig, jobId: string) {
  return (await rig.jobLog.states()).get(jobId);
}

it('E6 (b): when somebody deletes the keys of a range, it is restored from its checkpoint, never begun anew and never done', async () => {
  const rig = new Rig(await createServiceParts());
  const redis = new Redis(services().redis);
  try {
    const topic = await rig.parts.newTopic(1);
    await rig.produce(topic, 0, values(50));
    await rig.start();
    const jobId = await rig.request({ topic, rangesPerPartition: 2 });
    const range = await firstRange(rig, jobId);
    const token = await rig.settle(jobId, range, toOffset(9));
    await checkpointed(rig, jobId, 9n);
    const keys = await redis.keys(`${rig.parts.namespace}:{${jobId}}:range:*`);
    expect(keys).toHaveLength(2);
    await redis.del(keys.toSorted()[0] ?? '');
    const restored = await rig.ranges(jobId, (ranges) => ranges.length === 2);
    expect(restored[0]).toMatchObject({ start: -1n, cursor: 9n, counters: { ok: 10n } });
    expect((await rig.settle(jobId, range, toOffset(15))) > token).toBe(true);
    await rig.settleAll(jobId);
    expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', reason: 'clean', totals: { ok: 50n } });
  } finally {
    await rig.close();
    redis.disconnect();
  }
});

describe('outages', () => {
  it('P8: Redis is killed and comes back as another incarnation: filled anew, tokens grow, the job completes', async () => {
    const redis = await privateRedis();
    const rig = new Rig(await createServiceParts({ redis: redis.address }));
    const logger = listeningLogger();
    try {
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, values(50));
      await rig.start({ logger, checkpointEveryMs: 200 });
      const jobId = await rig.request({ topic });
      await rig.state(jobId, 'RUNNING');
      const [range] = await rig.ranges(jobId);
      if (range === undefined) throw new Error('no range');
      const token = await rig.settle(jobId, range, toOffset(20));
      await redis.kill();
      await outage();
      await redis.start();

      const restored = await waitFor(
        'the job in the new store',
        async () => (await rig.parts.store.snapshot(jobId))?.ranges[0],
      );
      // The last second of the append-only file, or the last checkpoint: at most what came since is repeated.
      expect(restored.cursor).toBeLessThanOrEqual(20n);
      expect((await rig.settle(jobId, restored, toOffset(30))) > token).toBe(true);
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', reason: 'clean', totals: { ok: 50n } });
      expect(logger.lines).toContain('job.restored');
      expect(logger.lines.length).toBeLessThan(20);
    } finally {
      await rig.close();
      await redis.stop();
    }
  });

  it('Kafka is killed and comes back: the same distributor goes on, requests and checkpoints are whole, few lines are said', {
    timeout: TWO_STARTS_TIMEOUT_MS,
  }, async () => {
    const kafka = await privateKafka();
    const rig = new Rig(await createServiceParts({ kafka: kafka.address }));
    const logger = listeningLogger();
    try {
      const topic = await rig.parts.newTopic(1);
      await rig.produce(topic, 0, values(50));
      const distributor = await rig.start({ logger, checkpointEveryMs: 200 });
      const jobId = await rig.request({ topic });
      const [range] = await rig.ranges(jobId);
      if (range === undefined) throw new Error('no range');
      await kafka.kill();
      await rig.settle(jobId, range, toOffset(20));
      await outage();
      await kafka.start();
      await rig.settleAll(jobId);
      await waitFor('the end of the job', async () => isTerminal((await stateOf(rig, jobId))?.state ?? ''), {
        timeoutMs: 120_000, // a broker that has just started, and the longest pause between two sessions
      });
      expect(await stateOf(rig, jobId)).toMatchObject({ state: 'COMPLETED', reason: 'clean', totals: { ok: 50n } });
      expect((await rig.kinds(jobId)).filter((kind) => kind === 'JobPinned')).toHaveLength(1);

      const next = await rig.request({ topic });
      await waitFor('the next job', async () => (await stateOf(rig, next))?.state === 'RUNNING');
      expect(distributor.phase).toBe('running');
      expect(logger.lines.length).toBeLessThan(20);
    } finally {
      await rig.close();
      await kafka.stop();
    }
  });
});
