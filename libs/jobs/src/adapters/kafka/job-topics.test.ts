/** The adapters over the in-memory log. On real services the distributor's scenarios drive the same code. */
import type { JobState, RangeCheckpoint } from '@tidemark/contracts';
import { createMemoryCodec } from '@tidemark/contracts/testing';
import { NO_COUNTS, toOffset } from '@tidemark/keyspace';
import { createMemoryCluster, type MemoryCluster } from '@tidemark/log/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { sampleRequest, sampleState } from '../../testing/index.ts';
import { jobTopicSpecs, jobTopics } from '../../topics.ts';
import { createJobInbox } from './job-inbox.ts';
import { openJobJournal } from './job-journal.ts';
import { createJobLog } from './job-log.ts';

const namespace = 'test';
const topics = jobTopics(namespace);
const never = new AbortController().signal;
let cluster: MemoryCluster;
let codec: ReturnType<typeof createMemoryCodec>;

beforeEach(() => {
  cluster = createMemoryCluster();
  codec = createMemoryCodec();
});

const parts = () => ({ cluster, codec, namespace });
const journalOf = (transactionalId: string) => openJobJournal({ ...parts(), transactionalId });

async function createTopics(): Promise<void> {
  for (const spec of Object.values(jobTopicSpecs(namespace, 1))) await cluster.catalog.ensure(spec);
}

function checkpoint(fields: Partial<RangeCheckpoint>): RangeCheckpoint {
  return {
    formatVersion: 1,
    jobId: 'job-1',
    partition: 0,
    start: -1n,
    cursor: -1n,
    horizon: -1n,
    status: 'open',
    note: '',
    counters: NO_COUNTS,
    lost: [],
    passed: [],
    parked: [],
    token: '',
    version: 0n,
    atMs: 0n,
    ...fields,
  };
}

const position = (nextOffset: bigint) => ({ formatVersion: 1, partition: 0, nextOffset, atMs: 5n });

describe('the job log', () => {
  it('creates the jobs topic for the first request and no other, and says where the request is', async () => {
    const jobLog = createJobLog(parts());
    expect(await jobLog.states()).toEqual(new Map());
    expect(await jobLog.request(sampleRequest())).toEqual({ partition: 0, offset: 0n });
    expect(await jobLog.request(sampleRequest({ jobId: 'two' }))).toEqual({ partition: 0, offset: 1n });
    expect(await cluster.catalog.describe(topics.jobState)).toBeUndefined();
    await jobLog.close();
  });

  it('a hold for an audit is written in a format that a program without holds refuses', async () => {
    await createTopics();
    const request = sampleRequest({ holdForAuditMs: 1_000n });
    const jobLog = createJobLog(parts());
    await jobLog.request(request);
    const answer = await createJobInbox(parts()).next({ from: toOffset(0), waitMs: 0, signal: never });
    expect(answer).toMatchObject({ records: [{ content: { kind: 'request', request: { formatVersion: 2 } } }] });
    const journal = await journalOf('a');
    const held = sampleState({ request, heldForAuditUntilMs: -1n });
    await journal.commit({ position: position(1n), states: [held, sampleState({ jobId: 'two' })] });
    expect([...(await jobLog.states()).values()].map(({ formatVersion }) => formatVersion)).toEqual([2, 1]);
    await jobLog.close();
  });

  it('opens another writer after an error', async () => {
    const jobLog = createJobLog(parts());
    cluster.faults.failNext('append', new Error('gone'));
    await expect(jobLog.request(sampleRequest())).rejects.toThrow('gone');
    expect((await jobLog.request(sampleRequest())).offset).toBe(0n);
  });

  it('shows the newest state of each job, and follows from before the topic existed', async () => {
    const jobLog = createJobLog(parts());
    const following = new AbortController();
    const seen: string[] = [];
    const cancelled = Promise.withResolvers<void>();
    const onState = ({ jobId, state }: JobState): void => {
      seen.push(`${jobId} ${state}`);
      if (state === 'CANCELLED') cancelled.resolve();
    };
    const followed = jobLog.follow(onState, following.signal);
    await createTopics();
    const journal = await journalOf('a');
    await journal.commit({ position: position(0n), states: [sampleState(), sampleState({ jobId: 'two' })] });
    await journal.commit({ position: position(0n), states: [sampleState({ state: 'CANCELLED' })] });
    await cancelled.promise;
    following.abort();
    await followed;
    expect(seen).toEqual(['job-1 RUNNING', 'two RUNNING', 'job-1 CANCELLED']);

    const writer = await cluster.openWriter();
    await writer.append([{ topic: topics.jobState, key: Buffer.from('two'), value: null }]);
    expect([...(await jobLog.states())].map(([jobId, { state }]) => [jobId, state])).toEqual([['job-1', 'CANCELLED']]);
  });

  it('of a job that was removed nothing is heard, though the log still shows it: its id may be that of another one', async () => {
    await createTopics();
    const journal = await journalOf('a');
    const removals = [{ jobId: 'job-1', ranges: [] }];
    await journal.commit({
      position: position(0n),
      states: [sampleState({ state: 'COMPLETED' }), sampleState({ jobId: 'two' })],
    });
    await journal.commit({ position: position(0n), removals });
    await journal.commit({ position: position(0n), states: [sampleState({ state: 'PINNING' })] });
    const following = new AbortController();
    const running = Promise.withResolvers<void>();
    const seen: string[] = [];
    const followed = createJobLog(parts()).follow(({ jobId, state }) => {
      seen.push(`${jobId} ${state}`);
      if (state === 'CANCELLED') running.resolve();
    }, following.signal);
    await journal.commit({ position: position(0n), states: [sampleState({ state: 'CANCELLED' })] });
    await running.promise;
    following.abort();
    await followed;
    expect(seen).toEqual(['two RUNNING', 'job-1 PINNING', 'job-1 CANCELLED']);
  });

  it('shows the newest checkpoint of each range of a job, also of one that has ended', async () => {
    const jobLog = createJobLog(parts());
    expect(await jobLog.checkpoints('job-1')).toEqual([]);
    await createTopics();
    const journal = await journalOf('a');
    await journal.commit({
      position: position(0n),
      states: [sampleState({ state: 'COMPLETED' })],
      checkpoints: [
        checkpoint({ cursor: 5n, version: 3n }),
        checkpoint({ cursor: 2n, version: 2n }),
        checkpoint({ start: 9n, cursor: 9n, version: 1n }),
        checkpoint({ jobId: 'job-10', cursor: 7n, version: 9n }),
      ],
    });
    const newest = await jobLog.checkpoints('job-1');
    expect(newest.map(({ start, cursor }) => [start, cursor])).toEqual([
      [-1n, 5n],
      [9n, 9n],
    ]);
  });
});

describe('the journal', () => {
  it('loads what was committed: per range the highest version, nothing of jobs that have ended', async () => {
    await createTopics();
    const journal = await journalOf('a');
    await journal.commit({
      position: position(1n),
      states: [sampleState(), sampleState({ jobId: 'done', state: 'COMPLETED' })],
      checkpoints: [
        checkpoint({ cursor: 5n, version: 3n }),
        checkpoint({ cursor: 2n, version: 2n }),
        checkpoint({ start: 9n, cursor: 9n, version: 1n }),
        checkpoint({ jobId: 'done', cursor: 9n, version: 9n }),
      ],
    });
    const first = await journal.writeEpoch({ formatVersion: 1, incarnation: 'one', distributor: 'a', atMs: 0n });
    const second = await journal.writeEpoch({ formatVersion: 1, incarnation: 'two', distributor: 'a', atMs: 0n });
    expect(second).toBeGreaterThan(first);

    const durable = await (await journalOf('b')).load(never);
    expect([...durable.states.keys()]).toEqual(['job-1', 'done']);
    expect([...durable.checkpoints.keys()]).toEqual(['job-1']);
    expect(durable.checkpoints.get('job-1')?.map(({ start, cursor }) => [start, cursor])).toEqual([
      [-1n, 5n],
      [9n, 9n],
    ]);
    expect(durable.position).toEqual(position(1n));
    expect(durable.epoch?.incarnation).toBe('two');
  });

  it('a younger journal fences the older one, and nothing of its next transaction is seen', async () => {
    await createTopics();
    const older = await journalOf('same');
    const younger = await journalOf('same');
    await expect(older.commit({ position: position(7n), states: [sampleState()] })).rejects.toMatchObject({
      class: 'fenced',
    });
    expect(older.usable).toBe(false);
    expect((await younger.load(never)).states.size).toBe(0);
  });
});

describe('the inbox', () => {
  it('keeps its place over transaction markers and aborted requests', async () => {
    await createTopics();
    const record = {
      topic: topics.jobs,
      key: Buffer.from('k'),
      value: await codec.encode('dev.tidemark.JobRequested', sampleRequest()),
    };
    const aborted = cluster.begin();
    aborted.append([record]);
    aborted.abort();
    const committed = cluster.begin();
    committed.append([record]);
    committed.commit();
    const inbox = createJobInbox(parts());
    let from = toOffset(0);
    const places: bigint[] = [];
    while (from < 4n) {
      const answer = await inbox.next({ from, waitMs: 10, signal: never });
      if (answer.kind === 'lost') throw new Error('nothing is lost here');
      places.push(...answer.records.map(({ place }) => place.offset));
      from = answer.nextOffset;
    }
    expect(places).toEqual([2n]);
    await inbox.close();
  });

  it('names requests that retention took before anybody looked', async () => {
    await createTopics();
    const jobLog = createJobLog(parts());
    for (let sent = 0; sent < 3; sent++) await jobLog.request(sampleRequest());
    const { topicId } = (await cluster.catalog.describe(topics.jobs)) ?? { topicId: '' };
    await cluster.catalog.deleteRecordsBefore({ topic: topics.jobs, topicId, partition: 0 }, toOffset(2));
    const inbox = createJobInbox(parts());
    const answer = await inbox.next({ from: toOffset(0), waitMs: 10, signal: never });
    expect(answer).toEqual({ kind: 'lost', first: 0n, last: 1n, nextOffset: 2n });
    await inbox.close();
  });

  it('refuses to go on when its topic is gone or another one', async () => {
    const inbox = createJobInbox(parts());
    const ask = { from: toOffset(0), waitMs: 10, signal: never };
    await expect(inbox.next(ask)).rejects.toMatchObject({ code: 'OWN_TOPIC_BROKEN', class: 'config' });
    await createTopics();
    await inbox.next(ask);
    cluster.recreateTopic(topics.jobs);
    await expect(inbox.next(ask)).rejects.toMatchObject({ code: 'OWN_TOPIC_BROKEN' });
    await inbox.close();
  });
});
