/** The broker has committed, and the answer never comes: only the position that was committed along knows. */
import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { publish } from '@tidemark/outbox/postgres';
import { waitFor } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import { numbersByKey, openRelayTest, withCommit } from './testing/harness.ts';

const ROWS_A_ROUND = 10;
const LOST_ANSWERS = 5;

it('G5 (a), P9: five times the answer to a commit is lost, and no row is lost or sent twice', async () => {
  const test = await openRelayTest();
  const { namespace, topic, outbox, cluster, codec } = test;
  let lost = 0;
  await test.startRelay({
    cluster: withCommit(cluster, async (records, writer) => {
      await writer.commit(records);
      const holdsEvents = records.some((record) => record.topic === topic);
      if (!holdsEvents || lost === LOST_ANSWERS) return;
      lost += 1;
      throw new TidemarkError({ code: 'ANSWER_LOST', class: ErrorClass.unavailable, message: 'the connection broke' });
    }),
  });
  let published = 0;
  for (let round = 1; round <= LOST_ANSWERS; round += 1) {
    for (let n = 0; n < ROWS_A_ROUND; n += 1) {
      published += 1;
      await publish(outbox.client, { namespace, topic, key: 'k', type: 'x', payload: `{"n":${published}}` });
    }
    // A slow writer has more than one answer lost while it writes a round.
    await waitFor('an answer to be lost', () => lost >= round);
  }
  // One more comes after whatever a new session may have sent again.
  await publish(outbox.client, { namespace, topic, key: 'k', type: 'x', payload: `{"n":${published + 1}}` });
  await waitFor('the last row', async () => (await test.readAll(topic)).length > published, { intervalMs: 200 });
  const numbers = await numbersByKey(codec, await test.readAll(topic));
  expect(numbers.get('k')).toEqual(Array.from({ length: published + 1 }, (_, i) => i + 1));
});
