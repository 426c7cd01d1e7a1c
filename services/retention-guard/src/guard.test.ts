/** What a guard says, and how often. */
import type { Logger } from '@tidemark/observability';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Guard, type GuardOptions, startGuard } from './guard.ts';
import type { CycleReport } from './report.ts';
import { GuardRig } from './testing/guard-rig.ts';
import { createMemoryParts } from './testing/memory-parts.ts';

let rig: GuardRig;
const guards: Guard[] = [];
beforeEach(() => {
  rig = new GuardRig(createMemoryParts());
});
afterEach(async () => {
  await Promise.all(guards.splice(0).map((guard) => guard.stop('a test')));
  await rig.close();
});

/** Each guard with a log of its own; `cycles` resolves after so many more of them. */
async function start(
  topic: string,
  { holds, schedule, ageMs = 86_400_000 }: Pick<GuardOptions, 'holds' | 'schedule'> & { readonly ageMs?: number } = {},
) {
  const said: { readonly event: string; readonly fields: object }[] = [];
  const say = (fields: object, event: string): void => void said.push({ fields, event });
  const logger = { debug: () => undefined, info: say, warn: say, error: say } as unknown as Logger;
  const waiting: { left: number; readonly done: () => void }[] = [];
  const onCycle = (_: CycleReport): void => {
    for (const each of waiting) if (--each.left === 0) each.done();
  };
  const policies = [{ topic, ageMs, bytes: undefined }];
  const parts = rig.guardParts(policies, { holds });
  const guard = await startGuard({ ...parts, schedule, everyMs: 5, replicationFactor: 1, logger, onCycle });
  guards.push(guard);
  return {
    said: (event: string) => said.filter((each) => each.event === `retention.${event}`).map(({ fields }) => fields),
    events: () => said.map(({ event }) => event),
    stop: () => guard.stop('a test'),
    cycles: (left: number) => new Promise<void>((done) => waiting.push({ left, done })),
  };
}

it('what others removed is said once, and once more by a guard that starts while somebody misses it', async () => {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, 100);
  await rig.distribute();
  const jobId = await rig.submit({ topic, from: '0:20' });
  const first = await start(topic);
  await first.cycles(2);
  await rig.removeBehindOurBack(topic, 0, 10n);
  await first.cycles(2);
  await rig.removeBehindOurBack(topic, 0, 50n);
  await first.cycles(4);
  const needed = { topic, partition: 0, removed: '[10, 50)', neededBy: `${jobId} [20, 50)` };
  expect(first.said('records_removed_by_others')).toMatchObject([{ removed: '[0, 10)', neededBy: '' }]);
  expect(first.said('needed_records_removed_by_others')).toEqual([needed]);
  const second = await start(topic);
  await second.cycles(3);
  expect(second.said('records_removed_by_others')).toEqual([]);
  expect(second.said('needed_records_removed_by_others')).toEqual([needed]);
});

it('a job that holds the log for too long is served before all others, as long as the guard says so', async () => {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, 100);
  await rig.distribute();
  const { schedule } = rig.parts;
  const patient = await rig.submit({ topic, holdForAuditMs: 86_400_000n });
  const urgent = await rig.submit({ topic: await topicWith(10), priority: 1_000 });
  const next = async (): Promise<string | undefined> => (await schedule.propose({ limit: 1 })).jobs[0]?.jobId;
  expect(await next()).toBe(urgent);
  const holds = new Map([[topic, { alarmMs: 0, releaseMs: undefined }]]);
  const guard = await start(topic, { holds, schedule, ageMs: 0 });
  await guard.cycles(1);
  const late = guard.said('held_too_long').map((fields) => (fields as { readonly holder: string }).holder);
  expect(late.toSorted()).toEqual([`audit:${patient}`, patient].toSorted());
  expect(guard.events()).not.toContain('guard.jobs_not_hurried');
  // Other than by its turn, which comes now and then: three times in a row.
  await rig.until('the job to be first', async () => isEach(patient, [await next(), await next(), await next()]));
  await guard.stop();
  await schedule.hurry({ jobIds: [patient], ttlMs: 0 });
  await rig.until('the job to wait again', async () => isEach(urgent, [await next(), await next(), await next()]));
});

it('a hint that cannot be given is said once, and nothing else of a cycle waits for it', async () => {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, 100);
  await rig.distribute();
  await rig.submit({ topic });
  const schedule = { hurry: () => Promise.reject(new Error('away')) };
  const holds = new Map([[topic, { alarmMs: 0, releaseMs: undefined }]]);
  const guard = await start(topic, { holds, schedule, ageMs: 0 });
  await guard.cycles(3);
  expect(guard.events().filter((event) => event === 'guard.jobs_not_hurried')).toHaveLength(1);
  expect(guard.said('held_too_long')).toHaveLength(1);
});

async function topicWith(records: number): Promise<string> {
  const topic = await rig.parts.newTopic(1);
  await rig.produce(topic, 0, records);
  return topic;
}

const isEach = (wanted: string, found: readonly (string | undefined)[]): boolean =>
  found.every((each) => each === wanted);
