/** What goes wrong around a distributor, on the in-memory parts, where every fault can be planned. */
import type { RangeCheckpoint } from '@tidemark/contracts';
import type { CursorStore } from '@tidemark/cursors';
import { jobTopics } from '@tidemark/jobs';
import { openJobJournal } from '@tidemark/jobs/kafka';
import { samplePin, sampleRequest, sampleState } from '@tidemark/jobs/testing';
import { ErrorClass, NO_COUNTS, TidemarkError, toOffset } from '@tidemark/keyspace';
import type { LogRecord } from '@tidemark/log';
import { type Logger, silentLogger } from '@tidemark/observability';
import { waitFor } from '@tidemark/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DistributorOptions } from './distributor.ts';
import { createMemoryParts, type MemoryParts } from './testing/memory-parts.ts';
import { Rig } from './testing/rig.ts';

let parts: MemoryParts;
let rig: Rig;
beforeEach(() => {
  parts = createMemoryParts();
  rig = new Rig(parts);
});
afterEach(() => rig.close());

const down = (what: string) =>
  new TidemarkError({ code: 'DOWN', class: ErrorClass.unavailable, message: `${what} is down` });

/** Counts events by name; errors and fields are not looked at. */
function countingLogger(): Logger & { readonly events: string[] } {
  const events: string[] = [];
  const line = (fields: object | string, event?: string): void =>
    void events.push(event ?? (typeof fields === 'string' ? fields : ''));
  const logger = { debug: line, info: line, warn: line, error: line, events, child: () => silentLogger };
  return logger;
}

async function topicWith(records: number, partitionCount = 1): Promise<string> {
  const topic = await parts.newTopic(partitionCount);
  await rig.produce(topic, 0, Array.from({ length: records }, String));
  return topic;
}

async function firstRange(jobId: string) {
  const [range] = await rig.ranges(jobId);
  if (range === undefined) throw new Error('no range');
  return range;
}

describe('transactions that fail', () => {
  it.each(['before', 'after'] as const)(
    'the broker goes away %s the pin took effect: one pin, and the job runs',
    async (moment) => {
      const topic = await topicWith(5);
      const distributor = await rig.start();
      parts.cluster.faults.failNext('commit', down('Kafka'), moment);
      const jobId = await rig.request({ topic });
      await rig.state(jobId, 'RUNNING');
      await rig.definition(jobId);
      await rig.settleAll(jobId);
      expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', reason: 'clean' });
      expect((await rig.kinds(jobId)).filter((kind) => kind === 'JobPinned')).toHaveLength(1);
      expect(distributor.phase).toBe('running');
    },
  );

  it('a request that cannot be stored is put aside by the next session, and those behind it are served', async () => {
    const topic = await topicWith(5);
    await rig.start();
    const refused = new TidemarkError({ code: 'RECORD_REFUSED', class: ErrorClass.data, message: 'too large' });
    parts.cluster.faults.failNext('commit', refused);
    const bad = await rig.request({ topic });
    const good = await rig.request({ topic });
    await rig.state(good, 'RUNNING');
    const dead: LogRecord[] = [];
    await rig.scan(jobTopics('test').jobsDeadLetters, async (record) => void dead.push(record));
    expect(dead.map(({ key }) => key?.toString())).toEqual([bad]);
    expect(await rig.kinds(bad)).toEqual([]);
  });

  it('is fenced in the middle of a pin: ends as standby and leaves the store alone', async () => {
    const topic = await topicWith(5);
    const distributor = await rig.start();
    const fenced = new TidemarkError({ code: 'PRODUCER_FENCED', class: ErrorClass.fenced, message: 'a newer session' });
    parts.cluster.faults.failNext('commit', fenced);
    const jobId = await rig.request({ topic });
    await distributor.ended;
    expect(distributor.phase).toBe('standby');
    expect(await parts.store.snapshot(jobId)).toBeUndefined();
  });

  it('a commit fails while another one leads: it waits instead of fencing that one', async () => {
    let isLed = false;
    let asked = 0;
    const leadership: DistributorOptions['leadership'] = {
      ...parts.leadership,
      lead: async () => {
        asked += 1;
        return isLed ? { kind: 'led', leader: 'another one', remainingMs: 30 } : { kind: 'leading' };
      },
    };
    const distributor = await rig.start({ leadership, leadershipTtlMs: 90 });
    isLed = true;
    parts.cluster.faults.failNext('commit', down('Kafka'));
    await rig.request({ topic: await topicWith(5) });
    await waitFor('it to stand by', async () => distributor.phase === 'standby');
    const before = asked;
    await waitFor('it to ask again and again', async () => asked > before + 5);
    expect(distributor.phase).toBe('standby');
    isLed = false;
    await waitFor('it to work', async () => distributor.phase === 'running');
  });
});

describe('dependencies that are down', () => {
  it.each(['ensure', 'openTransactionalWriter', 'openWriter'] as const)(
    'at the start it says so at once: %s',
    async (operation) => {
      parts.cluster.faults.failNext(operation, down('Kafka'));
      await expect(rig.start()).rejects.toMatchObject({ class: ErrorClass.unavailable });
    },
  );

  it('at the start a registry that is down is named at once', async () => {
    const codec = { ...parts.codec, encode: () => Promise.reject(down('the registry')) };
    await expect(rig.start({ codec })).rejects.toThrow('the registry is down');
  });

  it('later it waits, says so once, and the position stays', async () => {
    const logger = countingLogger();
    let failuresLeft = 0;
    const failing = <T>(what: string, call: () => Promise<T>): Promise<T> => {
      if (failuresLeft === 0) return call();
      failuresLeft -= 1;
      return Promise.reject(down(what));
    };
    const codec: DistributorOptions['codec'] = {
      ...parts.codec,
      decodeCached: () => undefined,
      decode: (bytes) => failing('the registry', () => parts.codec.decode(bytes)),
    };
    const topic = await topicWith(5);
    await rig.start({ codec, logger });
    failuresLeft = 4;
    const jobId = await rig.request({ topic });
    await rig.state(jobId, 'RUNNING');
    expect(logger.events.filter((event) => event === 'dependency.down')).toHaveLength(1);
    expect(logger.events.filter((event) => event === 'dependency.back')).toHaveLength(1);
    expect((await rig.kinds(jobId)).filter((kind) => kind === 'JobPinned')).toHaveLength(1);
  });

  it('a store that is away for a while costs nothing but time', async () => {
    const logger = countingLogger();
    let failuresLeft = 0;
    const store: CursorStore = {
      ...parts.store,
      snapshot: async (jobId) => {
        if (failuresLeft > 0) {
          failuresLeft -= 1;
          throw down('Redis');
        }
        return parts.store.snapshot(jobId);
      },
    };
    const topic = await topicWith(10);
    await rig.start({ store, logger });
    const jobId = await rig.request({ topic });
    await rig.state(jobId, 'RUNNING');
    failuresLeft = 3;
    await rig.settleAll(jobId);
    expect(await rig.ended(jobId)).toMatchObject({ state: 'COMPLETED', totals: { ok: 10n } });
    expect(logger.events).not.toContain('job.restored');
  });
});

describe('a store that forgot', () => {
  it('another incarnation of the same data is filled anew, under a younger epoch', async () => {
    const topic = await topicWith(10);
    await rig.start();
    const jobId = await rig.request({ topic });
    await rig.state(jobId, 'RUNNING');
    await rig.ranges(jobId);
    const before = (await parts.store.snapshot(jobId))?.epoch ?? -1n;
    parts.store.restart();
    await rig.ranges(jobId);
    expect((await parts.store.snapshot(jobId))?.epoch).toBeGreaterThan(before);
  });

  it('a hundred jobs are filled in several at once, with one transaction at a time', async () => {
    const topic = await topicWith(4);
    const first = await rig.start();
    const jobIds: string[] = [];
    for (let count = 0; count < 100; count++) jobIds.push(await rig.request({ topic, rangesPerPartition: 2 }));
    await rig.state(jobIds.at(-1) ?? '', 'RUNNING');
    await first.stop('test');
    parts.store.loseEverything();
    await rig.start({ proofTrustMs: 0 });
    for (const jobId of jobIds) expect((await parts.store.snapshot(jobId))?.ranges).toHaveLength(2);
    await Promise.all(jobIds.map((jobId) => rig.settleAll(jobId)));
    for (const jobId of jobIds) expect(await rig.ended(jobId)).toMatchObject({ reason: 'clean', totals: { ok: 4n } });
  });

  it('jobs that have ended are taken out of a store that came back with them', async () => {
    const topic = await topicWith(10);
    await rig.start();
    const jobId = await rig.request({ topic });
    await rig.state(jobId, 'RUNNING');
    const definition = JSON.stringify(await rig.definition(jobId));
    await rig.settleAll(jobId);
    await rig.ended(jobId);
    await parts.schedule.enlist({ jobId, definition, priority: 0 });
    parts.store.restart();
    // The sweep follows the next look at the incarnation.
    await waitFor('the job to be taken out', async () => {
      const { jobs: listed } = await parts.schedule.propose({ limit: 10 });
      return !listed.some((job) => job.jobId === jobId);
    });
  });

  it('a job held back in the store but durable as running is let run', async () => {
    const topic = await topicWith(10);
    await rig.start();
    const jobId = await rig.request({ topic });
    await rig.definition(jobId);
    await parts.store.setMode({ jobId, mode: 'halted' });
    await rig.letRun(jobId);
  });
});

describe('what must stop it', () => {
  const position = { formatVersion: 1, partition: 0, nextOffset: 0n, atMs: 0n };
  const journal = () => openJobJournal({ ...parts, transactionalId: 'someone' });

  it('stored ranges that do not tile the window', async () => {
    const first = await rig.start();
    await first.stop('test');
    const writer = await journal();
    await writer.commit({ position, states: [sampleState({ pin: samplePin([[-1n, 99n]]) })] });
    await writer.close();
    await expect(rig.start()).rejects.toMatchObject({ code: 'RANGES_DO_NOT_TILE', class: ErrorClass.bug });
  });

  it('a job state of a newer format', async () => {
    const first = await rig.start();
    await first.stop('test');
    const writer = await journal();
    await writer.commit({ position, states: [sampleState({ formatVersion: 3 })] });
    await writer.close();
    await expect(rig.start()).rejects.toMatchObject({ code: 'NEWER_FORMAT', class: ErrorClass.config });
  });

  it('one of its topics replaced by an empty one', async () => {
    const topic = await topicWith(5);
    const distributor = await rig.start();
    parts.cluster.recreateTopic(jobTopics('test').jobState);
    parts.cluster.faults.failNext('commit', down('Kafka'));
    await rig.request({ topic });
    await expect(distributor.ended).rejects.toMatchObject({ code: 'OWN_TOPIC_REPLACED' });
    expect(distributor.phase).toBe('failed');
  });

  it('a store that holds a job of an epoch that no distributor of this log wrote', async () => {
    const topic = await topicWith(5);
    const distributor = await rig.start();
    const jobId = 'from-elsewhere';
    const incarnation = await parts.store.incarnation();
    await parts.store.install({ jobId, definition: '{}', epoch: toOffset(10_000), incarnation, ends: [], ranges: [] });
    await rig.request({ topic, jobId });
    await expect(distributor.ended).rejects.toMatchObject({ code: 'STORE_FROM_ELSEWHERE' });
  });
});

describe('numbers', () => {
  it('D4: offsets above 2^53 are pinned, checkpointed and restored exactly', async () => {
    const far = 2n ** 53n + 1n;
    const state = sampleState({ request: sampleRequest(), pin: samplePin([[far, far + 10n]]) });
    const first = await rig.start();
    await first.stop('test');
    const counters = { ...NO_COUNTS, ok: 4n };
    const checkpoint: RangeCheckpoint = {
      formatVersion: 1,
      jobId: state.jobId,
      partition: 0,
      start: far,
      cursor: far + 4n,
      horizon: far + 6n,
      status: 'open',
      note: '',
      counters,
      lost: [],
      passed: [],
      parked: [],
      token: '',
      version: 3n,
      atMs: 0n,
    };
    const writer = await openJobJournal({ ...parts, transactionalId: 'someone' });
    const stale = { ...checkpoint, cursor: far + 1n, horizon: far + 1n, version: 2n };
    await writer.commit({
      position: { formatVersion: 1, partition: 0, nextOffset: 0n, atMs: 0n },
      states: [state],
      checkpoints: [checkpoint, stale],
    });
    await writer.close();
    await rig.start();
    expect(await firstRange(state.jobId)).toMatchObject({
      start: far,
      cursor: far + 4n,
      horizon: far + 6n,
      end: far + 10n,
    });
  });
});
