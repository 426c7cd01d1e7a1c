import { expect, it } from 'vitest';
import { describePatiently } from './topics.ts';

const topic = { topic: 't', topicId: 'i', partitionCount: 3 };

it('whoever is told to end while a broker does not know a topic yet, does not take it for gone', async () => {
  const ending = new AbortController();
  const catalog = {
    describe: async () => {
      ending.abort();
      return undefined;
    },
  };
  await expect(describePatiently(catalog, 't', ending.signal)).rejects.toMatchObject({ class: 'transient' });
});

it('a topic that is found late is found', async () => {
  const answers = [undefined, topic];
  const catalog = { describe: async () => answers.shift() };
  expect(await describePatiently(catalog, 't', new AbortController().signal)).toEqual(topic);
});
