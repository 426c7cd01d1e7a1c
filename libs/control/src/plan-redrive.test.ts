import { LetterParameter } from '@tidemark/jobs';
import { createMemoryCluster, type MemoryCluster } from '@tidemark/log/testing';
import { beforeEach, expect, it } from 'vitest';
import { NEWEST_CHARACTERS_MAX } from './limits.ts';
import { FormerTopic, planRedrive } from './plan-redrive.ts';
import { writeLetters } from './testing/letters.ts';

let cluster: MemoryCluster;
beforeEach(() => {
  cluster = createMemoryCluster();
});

const plan = (former: FormerTopic = FormerTopic.refuse, parameters: Readonly<Record<string, string>> = {}) =>
  planRedrive(cluster, { topic: 't', parameters, former });

async function planned(parameters: Readonly<Record<string, string>>) {
  const answer = await plan(FormerTopic.refuse, parameters);
  if (answer.kind !== 'planned') throw new Error(answer.kind);
  return answer;
}

it('counts by class and round what would be handed over, and what is left where it is', async () => {
  cluster.createTopic('t');
  await writeLetters(cluster, [
    { offset: 1 },
    { offset: 2, round: 2, faultClass: 'transient' },
    { offset: 2, faultClass: 'timeout', partition: 1 },
    { offset: 3, round: 3 },
    { offset: 4, form: 'pointer' },
    { offset: 5 },
    { offset: 5, edit: 1 },
    { offset: 6, job: 'other' },
  ]);
  const parameters = { [LetterParameter.roundsMax]: '3', [LetterParameter.job]: 'job-1' };
  expect(await plan(FormerTopic.refuse, parameters)).toEqual({
    kind: 'planned',
    parameters: { ...parameters, [LetterParameter.newest]: '0:5=5' },
    to: '0:6,1:0',
    count: {
      letters: 4,
      byClass: { data: 2, transient: 1, timeout: 1 },
      byRound: { 1: 3, 2: 1 },
      edited: 1,
      pointers: 1,
      tooOften: 1,
      replaced: 1,
      former: 0,
    },
  });
});

it('F5: hands a record over once, however often it was dead-lettered: its last letter, of the last correction', async () => {
  cluster.createTopic('t');
  await writeLetters(cluster, [
    { offset: 1 },
    { offset: 1, job: 'again', round: 2 },
    { offset: 2 },
    { offset: 2, edit: 1 },
    { offset: 2, edit: 1, job: 'again', round: 2 },
    { offset: 2, job: 'late', round: 2 },
    { offset: 3 },
  ]);
  const newestOf = async (parameters: Readonly<Record<string, string>>) => {
    const planned = await plan(FormerTopic.refuse, parameters);
    return planned.kind === 'planned' ? [planned.parameters[LetterParameter.newest], planned.count.letters] : planned;
  };
  expect(await newestOf({})).toEqual(['0:1=1,0:2=4', 3]);
  // Of the letters of one job; but what is corrected elsewhere is not handed over uncorrected.
  expect(await newestOf({ [LetterParameter.job]: 'job-1' })).toEqual(['0:2=3', 3]);
  expect(await newestOf({ [LetterParameter.job]: 'late' })).toEqual(['0:2=', 0]);
});

it('F5: leaves a record alone that was dead-lettered too often, its earlier letters included', async () => {
  cluster.createTopic('t');
  await writeLetters(cluster, [
    { offset: 1 },
    { offset: 1, job: 'again', round: 2 },
    { offset: 1, job: 'third', round: 3 },
    { offset: 2 },
    { offset: 2, job: 'again', round: 2 },
  ]);
  expect(await plan(FormerTopic.refuse, { [LetterParameter.roundsMax]: '3' })).toMatchObject({
    parameters: { [LetterParameter.newest]: '0:1=,0:2=4' },
    count: { letters: 1, tooOften: 1, replaced: 3 },
  });
});

it('F5: leaves it alone, too, when a class or a job is asked for that another letter than its last is of', async () => {
  cluster.createTopic('t');
  await writeLetters(cluster, [
    { offset: 1, faultClass: 'timeout' },
    { offset: 1, job: 'again', round: 2 },
    { offset: 1, job: 'third', round: 3 },
    { offset: 1, faultClass: 'timeout', round: 2 },
    { offset: 2, faultClass: 'timeout' },
    { offset: 3, faultClass: 'timeout' },
    { offset: 3, job: 'third', round: 3 },
    { offset: 3, faultClass: 'timeout', edit: 1 },
  ]);
  for (const asked of [
    { [LetterParameter.faultClass]: 'timeout' },
    { [LetterParameter.job]: 'job-1' },
    { [LetterParameter.job]: 'job-1', [LetterParameter.faultClass]: 'timeout' },
  ]) {
    const { parameters, count } = await planned({ ...asked, [LetterParameter.roundsMax]: '3' });
    expect([asked, parameters[LetterParameter.newest], count]).toMatchObject([
      asked,
      '0:1=,0:3=7',
      { letters: 2, byRound: { 1: 2 }, edited: 1 },
    ]);
    expect((await planned({ ...asked, [LetterParameter.roundsMax]: '4' })).count).toMatchObject({ letters: 3 });
  }
});

it('B3: refuses the letters of a deleted topic, unless they are asked for, and does not bring it back', async () => {
  await writeLetters(cluster, [{ offset: 1, topicId: 'gone' }, { offset: 2 }]);
  expect(await plan()).toEqual({ kind: 'topic missing', letters: 2 });
  expect(await plan(FormerTopic.leave)).toEqual({ kind: 'topic missing', letters: 2 });
  expect(await plan(FormerTopic.take)).toMatchObject({ kind: 'planned', count: { letters: 2, former: 1 } });
  expect(await cluster.catalog.describe('t')).toBeUndefined();
});

it('B3: refuses the letters of a topic that was created again, or leaves them, or takes them', async () => {
  const before = cluster.createTopic('t');
  await writeLetters(cluster, [{ offset: 1, topicId: before.topicId }]);
  expect(await plan()).toMatchObject({ kind: 'planned', count: { letters: 1 } });
  const { topicId } = cluster.recreateTopic('t');
  await writeLetters(cluster, [{ offset: 1, topicId }, { offset: 2 }]);
  expect(await plan()).toEqual({ kind: 'topic recreated', letters: 1 });
  expect(await plan(FormerTopic.leave)).toMatchObject({
    parameters: { [LetterParameter.topicId]: topicId },
    count: { letters: 2, former: 1 },
  });
  expect(await plan(FormerTopic.take)).toMatchObject({ count: { letters: 3, former: 1 } });
});

it('B3: takes a letter without a topic id, as older workers write them, for one of the topic that is there', async () => {
  const { topicId } = cluster.createTopic('t');
  await writeLetters(cluster, [{ offset: 1 }, { offset: 1, job: 'later', topicId }]);
  expect(await plan()).toMatchObject({
    parameters: { [LetterParameter.newest]: '0:1=1' },
    count: { letters: 1, replaced: 1, former: 0 },
  });
});

it('says that nothing is there for a topic that never had a dead letter', async () => {
  cluster.createTopic('t');
  expect(await plan()).toMatchObject({ kind: 'planned', count: { letters: 0 } });
});

it('is bounded: more records with several letters than a request can name are refused, and --job makes them fewer', async () => {
  cluster.createTopic('t');
  const count = NEWEST_CHARACTERS_MAX / 20; // of more than twenty characters each
  const letters = Array.from({ length: count }, (_, offset) => ({ offset: 9_000_000_000_000_000 + offset }));
  await writeLetters(cluster, [...letters, ...letters.map((letter) => ({ ...letter, job: 'again', round: 2 }))]);
  expect(await plan()).toEqual({ kind: 'too many repeats', records: count });
  expect(await plan(FormerTopic.refuse, { [LetterParameter.job]: 'again' })).toMatchObject({
    count: { letters: count },
  });
});
