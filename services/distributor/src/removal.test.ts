/** What is in the way of forgetting a job, on the in-memory parts; what real services must do is in testing/removal-scenarios.ts. */
import { auditHolderOf, deadLetterTopic, isHeldForAudit, isTerminal, jobTopics } from '@tidemark/jobs';
import { openJobJournal } from '@tidemark/jobs/kafka';
import { ErrorClass, TidemarkError, toOffset } from '@tidemark/keyspace';
import { waitFor } from '@tidemark/testkit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { REMOVED_AT_ONCE } from './limits.ts';
import { floorsOf, placeOf } from './testing/floor-scenarios.ts';
import { createMemoryParts, type MemoryParts } from './testing/memory-parts.ts';
import { finishOne, longLived, removed, trim, trimRequests } from './testing/removal-scenarios.ts';
import { Rig } from './testing/rig.ts';
import { firstRange, numbers } from './testing/scenario-looks.ts';

let parts: MemoryParts;
let rig: Rig;
let topic: string;
const YEARS_MS = 10 * 365 * 86_400_000;

beforeEach(async () => {
  parts = createMemoryParts();
  rig = new Rig(parts);
  topic = await parts.newTopic(1);
  await rig.produce(topic, 0, numbers(5));
});
afterEach(() => rig.close());

const known = async (jobId: string): Promise<boolean> => (await rig.jobLog.states()).has(jobId);

/** A job that counted a dead letter. */
async function finishWithLetter(): Promise<string> {
  const jobId = await rig.request({ topic });
  await rig.settle(jobId, await firstRange(rig, jobId), toOffset(4), { add: { ok: 4n, deadLettered: 1n } });
  await rig.ended(jobId);
  return jobId;
}

/** Nobody asks any more for what ended until now, and something happens again. */
async function yearsLater(clock: { skippedMs: number }): Promise<void> {
  await trimRequests(rig);
  clock.skippedMs = YEARS_MS;
  await finishOne(rig, topic);
}

it('a job stays as long as dead letters of it are left, because a redrive may name it', async () => {
  const { clock, ...options } = longLived();
  await rig.start(options);
  const letters = await parts.cluster.catalog.ensure({
    topic: deadLetterTopic(topic),
    partitionCount: 1,
    replicationFactor: 1,
    configs: {},
  });
  const jobId = await finishWithLetter();
  await rig.produce(letters.topic, 0, ['a letter']);
  const clean = await finishOne(rig, topic);
  await yearsLater(clock);
  await removed(rig, clean);
  expect(await known(jobId)).toBe(true);
  // Of a later job.
  await rig.produce(letters.topic, 0, ['another'], BigInt(Date.now() + YEARS_MS));
  await trim(rig, letters, toOffset(1));
  await removed(rig, jobId);
});

it('whoever may not ask for the dead letters keeps the job, and goes on', async () => {
  const { clock, ...options } = longLived();
  const { catalog } = parts.cluster;
  const forbidden = new TidemarkError({ code: 'TOPIC_FORBIDDEN', class: ErrorClass.config, message: 'forbidden' });
  const cluster = {
    openReader: () => parts.cluster.openReader(),
    openWriter: () => parts.cluster.openWriter(),
    openTransactionalWriter: (of: Parameters<MemoryParts['cluster']['openTransactionalWriter']>[0]) =>
      parts.cluster.openTransactionalWriter(of),
    catalog: {
      ...catalog,
      describe: async (name: string) => {
        if (name === deadLetterTopic(topic)) throw forbidden;
        return catalog.describe(name);
      },
    },
    close: async () => undefined,
  };
  await rig.start({ ...options, cluster });
  const jobId = await finishWithLetter();
  const clean = await finishOne(rig, topic);
  await yearsLater(clock);
  await removed(rig, clean);
  expect(await known(jobId)).toBe(true);
});

it('the only job that is known to have read a partition stays, until its topic is gone', async () => {
  const { clock, ...options } = longLived();
  await rig.start(options);
  const witness = await finishOne(rig, topic);
  const other = await parts.newTopic(1);
  await rig.produce(other, 0, numbers(3));
  const old = await finishOne(rig, other);
  await trimRequests(rig);
  clock.skippedMs = YEARS_MS;
  await finishOne(rig, other);
  await removed(rig, old);
  expect(await known(witness)).toBe(true);
  parts.cluster.deleteTopic(topic);
  await removed(rig, witness);
});

it('a floor that somebody put back goes before the job does: nobody would know any more whose it is', async () => {
  const { clock, ...options } = longLived();
  await rig.start(options);
  const old = await finishOne(rig, topic, { holdForAuditMs: 1n });
  await rig.state(old, (state) => isTerminal(state.state) && !isHeldForAudit(state));
  await waitFor('the floors to go', async () => (await floorsOf(rig, topic)).flat().length === 0);
  await parts.floors.confirm({
    place: await placeOf(rig, topic),
    holder: old,
    offset: toOffset(2),
    wasConfirmed: true,
  });
  await parts.floors.confirm({
    place: await placeOf(rig, topic),
    holder: auditHolderOf(old),
    offset: toOffset(0),
    wasConfirmed: true,
  });
  await finishOne(rig, topic);
  await yearsLater(clock);
  await removed(rig, old);
  const holders = (await floorsOf(rig, topic)).flat().map(({ holder }) => holder);
  expect(holders.filter((holder) => holder.includes(old))).toEqual([]);
});

it('a start finds nothing of what was removed, and more than a batch is removed in turn', async () => {
  const { clock, ...options } = longLived();
  const distributor = await rig.start(options);
  const ids: string[] = [];
  for (let index = 0; index < 230; index += 1) ids.push(await rig.request({ topic, from: '0:3', to: '0:3' }));
  for (const jobId of ids) await rig.settleAll(jobId);
  for (const jobId of ids) await rig.ended(jobId);
  await finishOne(rig, topic);
  await yearsLater(clock);
  await waitFor('all to go', async () => (await rig.jobLog.states()).size <= 1);
  await distributor.stop('a test');
  const journal = await openJobJournal({ ...parts, transactionalId: `${parts.namespace}.distributor.0` });
  const durable = await journal.load(new AbortController().signal);
  const { size } = durable.states;
  expect([size, durable.endedRanges.size, durable.checkpoints.size]).toEqual([1, 1, 0]);
  const removals = new Set<bigint>();
  await rig.scan(jobTopics(parts.namespace).jobState, async ({ value, timestampMs }) => {
    if (value === null) removals.add(timestampMs);
  });
  // Each transaction has a time of its own.
  expect(removals.size).toBeGreaterThanOrEqual(Math.ceil(ids.length / REMOVED_AT_ONCE));
});

it('P5: whoever was replaced in the midst of an end does not take the keys of a later job under that id', async () => {
  const { clock, ...options } = longLived();
  const first = await rig.startFrozenAt('end.withdrawn', options);
  const jobId = await rig.request({ topic });
  await rig.settleAll(jobId);
  await first.frozen;
  await rig.start(options);
  await rig.ended(jobId);
  clock.skippedMs = YEARS_MS;
  await finishOne(rig, topic);
  await trimRequests(rig);
  await removed(rig, jobId);
  await rig.request({ topic, jobId });
  await rig.state(jobId, 'RUNNING');
  await rig.ranges(jobId);
  const epoch = (await parts.store.snapshot(jobId))?.epoch;
  const { remove } = parts.store;
  const left = Promise.withResolvers<unknown>();
  parts.store.remove = async (request) => {
    await remove(request);
    left.resolve((await parts.store.snapshot(jobId))?.epoch);
  };
  first.release();
  expect(await left.promise).toBe(epoch);
  await first.distributor.ended;
  expect(first.distributor.phase).toBe('standby');
});
