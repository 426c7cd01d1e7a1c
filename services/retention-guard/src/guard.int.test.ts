/** The guard on the real services: the scenarios, a Redis that comes back older or is another one, races, and the program. */
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createRedisFloorStore } from '@tidemark/cursors/redis';
import { isTerminal } from '@tidemark/jobs';
import { createMarkLog } from '@tidemark/jobs/kafka';
import { toOffset } from '@tidemark/keyspace';
import { silentLogger } from '@tidemark/observability';
import { environmentOf, privateRedis, services, spawnProgram, waitFor } from '@tidemark/testkit';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { runCycle } from './cycle.ts';
import { startGuard } from './guard.ts';
import type { CycleReport } from './report.ts';
import { GuardRig } from './testing/guard-rig.ts';
import { guardScenarios } from './testing/guard-scenarios.ts';
import { EVERYTHING } from './testing/policies.ts';
import { createServiceParts } from './testing/service-parts.ts';

guardScenarios('real services', createServiceParts);

describe('the guard and its store', () => {
  let rig: GuardRig | undefined;
  afterEach(async () => {
    await rig?.close();
    rig = undefined;
  });

  it('E4: cuts nothing on a Redis that came back older, and goes on when the distributor has rebuilt it', async () => {
    const server = await privateRedis();
    onTestFinished(() => server.stop());
    rig = new GuardRig(await createServiceParts({ redis: server.address }));
    const topic = await rig.parts.newTopic(1);
    await rig.produce(topic, 0, 100);
    const distributor = await rig.distribute();
    const done = await rig.submit({ topic });
    await rig.settle(done, { partition: 0, to: 19n });
    await rig.floorsAre(topic, [20n]);
    const data = join(server.folder, 'data', 'appendonlydir');
    cpSync(data, join(server.folder, 'saved'), { recursive: true });
    // What the old dump does not know: this job ended, and another one needs more than it did.
    await rig.finish(done);
    const later = await rig.submit({ topic, from: '0:10', to: '0:99' });
    await rig.floorsAre(topic, [10n]);
    await distributor.stop('a test');

    await server.kill();
    rmSync(data, { recursive: true });
    cpSync(join(server.folder, 'saved'), data, { recursive: true });
    await server.start();

    for (let round = 0; round < 2; round++) {
      const { partitions } = await rig.cycle(topic);
      expect(partitions).toMatchObject([{ outcome: 'incomplete', reason: expect.stringContaining('the store is') }]);
    }
    expect(await rig.logStarts(topic)).toEqual([0n]);
    await rig.distribute();
    await rig.floorsAre(topic, [10n]);
    expect(await rig.outcomes(topic)).toEqual(['cut']);
    expect(await rig.logStarts(topic)).toEqual([10n]);
    await rig.finish(later);
  });

  it('P8: cuts nothing when it looks into another Redis than the distributor fills', async () => {
    const foreign = await privateRedis();
    onTestFinished(() => foreign.stop());
    rig = new GuardRig(await createServiceParts());
    const { namespace } = rig.parts;
    const topic = await rig.parts.newTopic(1);
    await rig.produce(topic, 0, 100);
    await rig.distribute();
    await rig.finish(await rig.submit({ topic }));
    const floors = await createRedisFloorStore({ url: foreign.address, namespace });
    onTestFinished(() => floors.close());
    // Even if it looks as if it were filled.
    const { topicId } = await rig.describe(topic);
    const place = { topic, topicId, partition: 0 };
    await floors.withhold({ place, life: 'foreign' });
    const mark = (await rig.logStarts(topic))[0];
    if (mark === undefined) throw new Error('no partition');
    await floors.install({ place, life: 'foreign', incarnation: await floors.incarnation(), mark, floors: [] });
    const { partitions } = await runCycle(rig.guardParts([{ topic, ...EVERYTHING }], { floors }));
    expect(partitions).toMatchObject([
      { outcome: 'incomplete', reason: expect.stringContaining('distributor filled') },
    ]);
    expect(await rig.logStarts(topic)).toEqual([0n]);
    expect(await rig.outcomes(topic)).toEqual(['cut']);
  });

  it('E6 (b): when somebody deletes the floors, nothing is cut until the distributor has put them back', async () => {
    rig = new GuardRig(await createServiceParts());
    const redis = new Redis(services().redis);
    onTestFinished(() => redis.disconnect());
    const topic = await rig.parts.newTopic(1);
    await rig.produce(topic, 0, 100);
    const { floors } = rig.parts;
    let mayLook = Promise.resolve();
    let looking: Promise<unknown> = mayLook;
    await rig.distribute({
      floors: {
        ...floors,
        look: async (place) => {
          await mayLook;
          const look = floors.look(place);
          looking = look;
          return look;
        },
      },
    });
    const jobId = await rig.submit({ topic });
    await rig.settle(jobId, { partition: 0, to: 9n });
    await rig.floorsAre(topic, [10n]);
    // The distributor comes by every few seconds: not between a deletion and the guard.
    const gate = Promise.withResolvers<void>();
    onTestFinished(() => gate.resolve());
    mayLook = gate.promise;
    await looking;
    const { topicId } = await rig.describe(topic);
    const key = `${rig.parts.namespace}:{floor:${topic}:0}:${topicId}`;
    expect(await redis.hdel(key, `floor:${jobId}`)).toBe(1);
    expect(await rig.outcomes(topic)).toEqual(['incomplete']);
    expect(await redis.del(key)).toBe(1);
    expect(await rig.outcomes(topic)).toEqual(['incomplete']);
    expect(await rig.logStarts(topic)).toEqual([0n]);
    gate.resolve();
    await rig.settle(jobId, { partition: 0, to: 29n });
    await rig.floorsAre(topic, [30n]);
    expect(await rig.outcomes(topic)).toEqual(['cut']);
    await rig.finish(jobId);
  });

  it('P7: every job that races the guard reads its whole window or is refused', async () => {
    rig = new GuardRig(await createServiceParts());
    const topic = await rig.parts.newTopic(1);
    await rig.produce(topic, 0, 50);
    await rig.distribute();
    await rig.finish(await rig.submit({ topic }));
    let cuts = 0;
    const options = {
      ...rig.guardParts([{ topic, ...EVERYTHING }]),
      everyMs: 50,
      replicationFactor: 1,
      logger: silentLogger,
    };
    const onCycle = ({ partitions }: CycleReport): void => {
      if (partitions.some(({ outcome }) => outcome === 'cut')) cuts += 1;
    };
    const guards = await Promise.all([startGuard({ ...options, onCycle }), startGuard({ ...options, onCycle })]);
    for (let round = 0; round < 20; round++) {
      await rig.produce(topic, 0, 5);
      const jobId = await rig.submit({ topic });
      const { pin, state } = await rig.state(jobId, (seen) => seen.state !== 'PINNING');
      if (isTerminal(state)) continue;
      const window = pin?.partitions[0];
      // What is not settled yet must be in the log, whenever it is looked at.
      const [low] = await rig.logStarts(topic);
      expect(low).toBeLessThanOrEqual((window?.start ?? 0n) + 1n);
      await rig.finish(jobId);
      // Otherwise the next job would always hold what this one held. It comes while the other guard is still at it.
      const first = low ?? toOffset(0n);
      if (round % 2 === 0) await rig.until('a cut', async () => ((await rig?.logStarts(topic))?.[0] ?? first) > first);
    }
    await Promise.all(guards.map((guard) => guard.stop('a test')));
    expect(cuts).toBeGreaterThan(5);
  });
});

describe('the program', () => {
  it('runs one cycle and says what it did, or guards until it is stopped', async () => {
    const rig = new GuardRig(await createServiceParts());
    onTestFinished(() => rig.close());
    const topic = await rig.parts.newTopic(1);
    await rig.produce(topic, 0, 20);
    await rig.distribute();
    await rig.finish(await rig.submit({ topic }));
    const script = 'services/retention-guard/src/main.ts';
    const env = {
      ...environmentOf(rig.parts.namespace),
      TIDEMARK_GUARD_TOPICS: `${topic}=0s`,
      TIDEMARK_GUARD_EVERY_MS: '200',
    };
    const once = spawnProgram({ script, env: { ...env, TIDEMARK_GUARD_ONCE: 'true', TIDEMARK_LOG_LEVEL: 'error' } });
    expect((await once.exit).code).toBe(0);
    expect(once.lines.join('\n')).toContain('"outcome":"cut"');
    expect(await rig.logStarts(topic)).toEqual([20n]);

    const guard = spawnProgram({ script, env });
    await rig.produce(topic, 0, 5);
    await rig.until('the cut', async () => (await rig.logStarts(topic))[0] === 25n);
    const marks = createMarkLog(rig.parts);
    const seen = await waitFor('what the guard thinks', async () => (await marks.load()).views.get(topic));
    expect(seen).toMatchObject({ partitions: [{ partition: 0 }], disks: [{ usableBytes: expect.any(BigInt) }] });
    guard.signal('SIGTERM');
    expect((await guard.exit).code).toBe(0);

    const wrong = spawnProgram({ script, env: { ...env, TIDEMARK_GUARD_TOPICS: 'orders=soon' } });
    expect((await wrong.exit).code).toBe(2);
    expect(wrong.lines.join('\n')).toMatch(/tidemark guard: .*"soon" is no bound/);
  });
});
