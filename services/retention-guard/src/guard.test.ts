/** What a guard says, and how often. */
import type { Logger } from '@tidemark/observability';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Guard, startGuard } from './guard.ts';
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
async function start(topic: string) {
  const said: { readonly event: string; readonly fields: object }[] = [];
  const say = (fields: object, event: string): void => void said.push({ fields, event });
  const logger = { debug: () => undefined, info: say, warn: say, error: say } as unknown as Logger;
  const waiting: { left: number; readonly done: () => void }[] = [];
  const onCycle = (_: CycleReport): void => {
    for (const each of waiting) if (--each.left === 0) each.done();
  };
  const policies = [{ topic, ageMs: 86_400_000, bytes: undefined }];
  const options = { ...rig.guardParts(policies), everyMs: 5, replicationFactor: 1, logger, onCycle };
  guards.push(await startGuard(options));
  return {
    said: (event: string) => said.filter((each) => each.event === `retention.${event}`).map(({ fields }) => fields),
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
