import { createMemoryFloorStore, createMemorySchedule } from '@tidemark/cursors/testing';
import { newRequest } from '@tidemark/jobs';
import { toOffset } from '@tidemark/keyspace';
import { createMemoryCluster } from '@tidemark/log/testing';
import { expect, it } from 'vitest';
import { planJob } from './submit.ts';
import { scriptedJobLog } from './testing/scripted-job-log.ts';

it('a plan begins where the pin would, behind the mark of the guard, and requests nothing', async () => {
  const cluster = createMemoryCluster();
  const { topic, topicId } = cluster.createTopic('t');
  const writer = await cluster.openWriter();
  await writer.append(Array.from({ length: 30 }, () => ({ topic, partition: 0, key: null, value: null })));
  const place = { topic, topicId, partition: 0 };
  const floors = createMemoryFloorStore({ now: () => 0 });
  await floors.withhold({ place, life: 'one' });
  await floors.install({ place, life: 'one', incarnation: await floors.incarnation(), mark: toOffset(20), floors: [] });
  const requested: string[] = [];
  const jobLog = scriptedJobLog({ states: [] });
  const parts = {
    cluster,
    namespace: 'ns',
    schedule: createMemorySchedule({ now: () => 0 }),
    jobLog: {
      ...jobLog,
      request: (request: { jobId: string }) => Promise.reject(new Error(`requested ${requested.push(request.jobId)}`)),
    },
  };
  const request = newRequest({ jobId: 'dry', topic, handler: 'count' });
  const answer = await planJob(parts, request, { allowUnknownHandler: true, floors });
  expect(answer).toMatchObject({ kind: 'planned', ranges: 1, window: { partitions: [{ start: 19n, end: 29n }] } });
  expect(requested).toEqual([]);
});
