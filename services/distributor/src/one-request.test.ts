/** What concerns one request holds up neither the jobs that run nor the requests behind it for ever. */
import type { CursorStore } from '@tidemark/cursors';
import { ErrorClass, sleep, TidemarkError } from '@tidemark/keyspace';
import type { LogCluster } from '@tidemark/log';
import { type Logger, silentLogger } from '@tidemark/observability';
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

async function topicWith(records: number): Promise<string> {
  const topic = await parts.newTopic(1);
  await rig.produce(topic, 0, Array.from({ length: records }, String));
  return topic;
}

/** Asking for one of the topics fails as long as there is an error. */
function clusterWhere(fault: { topic: string; error: TidemarkError | undefined }): LogCluster {
  const { cluster } = parts;
  const check = (topic: string): void => {
    if (topic === fault.topic && fault.error !== undefined) throw fault.error;
  };
  return {
    catalog: {
      ...cluster.catalog,
      offsets: async (topic) => {
        check(topic.topic);
        return cluster.catalog.offsets(topic);
      },
    },
    openReader: () => cluster.openReader(),
    openWriter: () => cluster.openWriter(),
    openTransactionalWriter: (options) => cluster.openTransactionalWriter(options),
    close: () => cluster.close(),
  };
}

const noLeader = new TidemarkError({
  code: 'KAFKA_UNAVAILABLE',
  class: ErrorClass.unavailable,
  message: 'partition 0 has no leader',
});

function listeningLogger(): Logger & { readonly events: string[] } {
  const events: string[] = [];
  const line = (fields: object | string, event?: string): void =>
    void events.push(event ?? (typeof fields === 'string' ? fields : ''));
  return { debug: line, info: line, warn: line, error: line, events, child: () => silentLogger };
}

const count = (events: readonly string[], event: string) => events.filter((each) => each === event).length;

describe('a topic of which the broker says no', () => {
  it.each([
    ['TOPIC_FORBIDDEN', ErrorClass.config],
    ['TOPIC_NAME_INVALID', ErrorClass.config],
    ['RECORD_REFUSED', ErrorClass.data],
  ] as const)('%s refuses the job by that name, and the next request is served', async (code, errorClass) => {
    const topic = await topicWith(3);
    const secret = await topicWith(3);
    const error = new TidemarkError({ code, class: errorClass, message: `not ${secret}` });
    const distributor = await rig.start({ cluster: clusterWhere({ topic: secret, error }) });
    const refused = await rig.request({ topic: secret });
    const served = await rig.request({ topic });
    await rig.state(served, 'RUNNING');
    expect(await rig.ended(refused)).toMatchObject({ state: 'REFUSED', reason: `${code}: not ${secret}` });
    expect(distributor.phase).toBe('running');
  });

  it('an invariant that breaks while a topic is asked still stops the distributor', async () => {
    const topic = await topicWith(3);
    const error = new TidemarkError({ code: 'BROKEN', class: ErrorClass.bug, message: 'broken' });
    const distributor = await rig.start({ cluster: clusterWhere({ topic, error }) });
    await rig.request({ topic });
    await expect(distributor.ended).rejects.toMatchObject({ code: 'BROKEN' });
  });
});

describe('a topic that does not answer', () => {
  it('makes its request wait, while other jobs get checkpoints, commands and ends', async () => {
    const logger = listeningLogger();
    const silent = await topicWith(4);
    const fault: Parameters<typeof clusterWhere>[0] = { topic: silent, error: noLeader };
    await rig.start({ cluster: clusterWhere(fault), logger });
    const topic = await topicWith(10);
    const [ending, cancelled] = [await rig.request({ topic }), await rig.request({ topic })];
    await rig.state(cancelled, 'RUNNING');
    const waiting = await rig.request({ topic: silent });
    const behind = await rig.request({ topic });
    await rig.command(cancelled, 'cancel');
    expect(await rig.ended(cancelled)).toMatchObject({ state: 'CANCELLED' });
    await rig.settleAll(ending);
    expect(await rig.ended(ending)).toMatchObject({ state: 'COMPLETED' });
    expect([...(await rig.jobLog.states()).keys()].sort()).toEqual([ending, cancelled].sort());
    expect(count(logger.events, 'request.waiting')).toBe(1);

    fault.error = undefined;
    await rig.state(waiting, 'RUNNING');
    await rig.state(behind, 'RUNNING');
    expect(count(logger.events, 'request.waiting')).toBe(1);
    expect(count(logger.events, 'request.answered')).toBe(1);
    expect((await rig.kinds(waiting)).filter((kind) => kind === 'JobPinned')).toHaveLength(1);
    // The command was read again behind the request, and did nothing any more.
    expect((await rig.kinds(cancelled)).filter((kind) => kind === 'JobCancelled')).toHaveLength(1);
    expect(logger.events).not.toContain('command.ignored');
  });

  it('does not keep jobs from being killed, and its own job is killed when it comes to that', async () => {
    const silent = await topicWith(4);
    const fault: Parameters<typeof clusterWhere>[0] = { topic: silent, error: noLeader };
    await rig.start({ cluster: clusterWhere(fault) });
    const topic = await topicWith(10);
    const running = await rig.request({ topic });
    await rig.state(running, 'RUNNING');
    const waiting = await rig.request({ topic: silent });
    await rig.command('*', 'kill');
    const behind = await rig.request({ topic });
    await rig.state(running, 'PAUSED');
    // Whoever lets it run again meanwhile is not overruled when the command is read once more.
    await rig.command(running, 'resume');
    await rig.state(running, 'RUNNING');

    fault.error = undefined;
    await rig.state(waiting, 'PAUSED');
    await rig.state(behind, 'RUNNING');
    expect((await rig.jobLog.states()).get(running)?.state).toBe('RUNNING');
    expect((await rig.kinds(running)).filter((kind) => kind === 'JobPaused')).toHaveLength(1);
  });

  it('a kill that overtook an order to a series is not undone by it, and a resume that was given after it stands', async () => {
    const silent = await topicWith(4);
    const fault: Parameters<typeof clusterWhere>[0] = { topic: silent, error: noLeader };
    await rig.start({ cluster: clusterWhere(fault) });
    const topic = await topicWith(1);
    for (const series of ['resumed', 'renewed', 'later']) {
      await rig.createSeries(series, { topic });
      await rig.seriesState(series, ({ status }) => status === 'ACTIVE');
    }
    const waiting = await rig.request({ topic: silent });
    await rig.orderSeries('resumed', 'resume');
    await rig.orderSeries('renewed', 'delete');
    await rig.createSeries('renewed', { topic });
    const commandId = await rig.command('*', 'kill');
    for (const series of ['resumed', 'renewed', 'later'])
      await rig.seriesState(series, ({ status }) => status === 'STOPPED');
    await rig.orderSeries('later', 'resume');
    const last = await rig.request({ topic });

    fault.error = undefined;
    await rig.state(waiting, 'PAUSED');
    await rig.state(last, 'RUNNING');
    // Given again because its answer was lost.
    await rig.command('*', 'kill', { commandId });
    await rig.state(await rig.request({ topic }), 'RUNNING');
    const series = await rig.jobLog.series();
    expect(Object.fromEntries([...series].map(([name, { status }]) => [name, status]))).toEqual({
      resumed: 'STOPPED',
      renewed: 'STOPPED',
      later: 'ACTIVE',
    });
  });

  it('does not hide a command behind however many requests', async () => {
    const silent = await topicWith(4);
    await rig.start({ cluster: clusterWhere({ topic: silent, error: noLeader }) });
    const topic = await topicWith(10);
    const [killed, paused] = [await rig.request({ topic }), await rig.request({ topic })];
    for (const jobId of [killed, paused]) await rig.state(jobId, 'RUNNING');
    await rig.request({ topic: silent });
    // More than one look brings.
    for (let count = 0; count < 250; count++) await rig.request({ topic });
    await rig.command(killed, 'kill');
    await rig.state(killed, 'PAUSED');
    await rig.command('*', 'kill');
    await rig.state(paused, 'PAUSED');
  });

  it('is refused by name after the deadline, and the requests behind it are served', async () => {
    const silent = await topicWith(4);
    await rig.start({ cluster: clusterWhere({ topic: silent, error: noLeader }), pinDeadlineMs: 150 });
    const refused = await rig.request({ topic: silent });
    const served = await rig.request({ topic: await topicWith(1) });
    await rig.state(served, 'RUNNING');
    const { state, reason } = await rig.ended(refused);
    expect(state).toBe('REFUSED');
    expect(reason).toContain(`TOPIC_UNAVAILABLE: topic ${silent} could not be asked`);
    expect(reason).toContain('partition 0 has no leader');
  });

  it('a crash while it waits loses nothing: the successor pins it', async () => {
    const silent = await topicWith(4);
    const first = await rig.start({ cluster: clusterWhere({ topic: silent, error: noLeader }) });
    const other = await rig.request({ topic: await topicWith(4) });
    await rig.state(other, 'RUNNING');
    const waiting = await rig.request({ topic: silent });
    // Its transactions are behind the request in time, and must not be in position.
    await rig.command(other, 'cancel');
    await rig.ended(other);
    await first.stop('test');
    await rig.start();
    await rig.state(waiting, 'RUNNING');
    expect(await rig.kinds(other)).toEqual([
      'JobRequested',
      'JobPinned',
      'JobStarted',
      'JobCancelling',
      'JobCancelled',
    ]);
  });
});

it('a registry that is away keeps requests unread, while jobs get checkpoints and ends', async () => {
  let isAway = false;
  const codec: DistributorOptions['codec'] = {
    ...parts.codec,
    decodeCached: (bytes) => (isAway ? undefined : parts.codec.decodeCached(bytes)),
    decode: async (bytes) => {
      if (isAway) throw new TidemarkError({ code: 'DOWN', class: ErrorClass.unavailable, message: 'the registry' });
      return parts.codec.decode(bytes);
    },
  };
  const topic = await topicWith(10);
  const logger = listeningLogger();
  const distributor = await rig.start({ codec, logger });
  const running = await rig.request({ topic });
  await rig.state(running, 'RUNNING');
  isAway = true;
  const unread = await rig.request({ topic });
  await rig.settleAll(running);
  expect(await rig.ended(running)).toMatchObject({ state: 'COMPLETED', totals: { ok: 10n } });
  isAway = false;
  await rig.state(unread, 'RUNNING');
  expect(distributor.phase).toBe('running');
  expect(count(logger.events, 'dependency.down')).toBe(1);
  expect(count(logger.events, 'dependency.back')).toBe(1);
});

it('a round of checkpoints that is due comes between the requests of a burst', async () => {
  const checkpointEveryMs = 20;
  const said: string[] = [];
  const store: CursorStore = {
    ...parts.store,
    incarnation: () => {
      said.push('round');
      return parts.store.incarnation();
    },
  };
  const topic = await topicWith(1);
  const first = await rig.start();
  await first.stop('the requests come while nobody looks');
  const requests: string[] = [];
  for (let index = 0; index < 5; index++) requests.push(await rig.request({ topic }));
  await rig.start({
    store,
    checkpointEveryMs,
    onStep: async (step) => {
      if (step !== 'job.enlisted') return;
      said.push('request');
      // Each request takes longer than the interval, as a burst does in all.
      await sleep(2 * checkpointEveryMs);
    },
  });
  await rig.state(requests.at(-1) ?? '', 'RUNNING');
  expect(said.join(' ')).not.toContain('request request');
});
