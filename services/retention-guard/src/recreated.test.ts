import { sampleDefinition, samplePin, sampleRequest, sampleSeries, sampleState } from '@tidemark/jobs/testing';
import { expect, it } from 'vitest';
import { recreationOf } from './recreated.ts';

const now = { topic: 'orders', topicId: 'new', partitionCount: 1 };
const mark = (topicId: string, topic = 'orders') => ({
  formatVersion: 1,
  topic,
  topicId,
  partition: 0,
  offset: 50n,
  guard: 'a test',
  atMs: 0n,
});
const durable = (...marks: ReturnType<typeof mark>[]) => ({
  marks: new Map(marks.map((each) => [`${each.topic}/${each.topicId}`, each])),
  watches: new Map(),
});
const job = (jobId: string, state: string, topicId: string) =>
  sampleState({
    jobId,
    state,
    request: sampleRequest({ jobId, topic: 'orders' }),
    pin: { ...samplePin([[-1n, 9n]]), topicId },
  });

it('is said at the first look at the new one, and as long as a job waits for the former one', () => {
  const known = { durable: durable(mark('former')), states: [job('done', 'COMPLETED', 'former')], series: [] };
  expect(recreationOf(now, { ...known, isFirstLook: true })).toMatch(
    /^it was deleted and created again, its id is new \(before: former\): .* there is nothing to be done$/,
  );
  expect(recreationOf(now, { ...known, isFirstLook: false })).toBeUndefined();
  const states = [job('a', 'RUNNING', 'former'), job('b', 'RUNNING', 'new')];
  expect(recreationOf(now, { ...known, states, isFirstLook: false })).toMatch(/tidemark job cancel a$/);
});

it('names the series of the former one until they are deleted', () => {
  const definition = sampleDefinition({ request: sampleRequest({ jobId: 'nightly', topic: 'orders' }) });
  const series = [
    sampleSeries({ definition, topicId: 'former', status: 'STOPPED' }),
    sampleSeries({ definition, topicId: 'former', status: 'DELETED', series: 'gone' }),
    sampleSeries({ definition, topicId: 'new', series: 'fine' }),
  ];
  const words = recreationOf(now, { durable: durable(), states: [], series, isFirstLook: false });
  expect(words).toMatch(/series nightly is of the former one: tidemark series delete nightly, and create it anew$/);
});

it('is not said of a topic that is what it was', () => {
  const known = { durable: durable(mark('new'), mark('x', 'other')), states: [job('b', 'RUNNING', 'new')], series: [] };
  expect(recreationOf(now, { ...known, isFirstLook: true })).toBeUndefined();
});
