import { services, uniqueNamespace, waitFor } from '@tidemark/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { openTestOutbox } from '../../testing/index.ts';
import { PATIENT } from '../../testing/patient.ts';
import { type Database, openDatabase } from './database.ts';
import { createPostgresHints } from './hints.ts';
import { relayQueries } from './queries.ts';

async function openTest(noteStandsMs?: number) {
  const namespace = uniqueNamespace('hints');
  const outbox = await openTestOutbox({ url: services().postgres, namespace });
  onTestFinished(() => outbox.drop());
  const options = { url: outbox.url, applicationName: namespace, patience: PATIENT };
  const database = openDatabase(options);
  let writes = 0;
  let beforeWrite: () => Promise<void> = async () => undefined;
  const use: Database['use'] = async (work) => {
    writes += 1;
    await beforeWrite();
    return database.use(work);
  };
  const hints = createPostgresHints({ ...database, use }, relayQueries(namespace), options, noteStandsMs);
  onTestFinished(async () => {
    await hints.close();
    await database.close();
  });
  /** Whether it says that the relay sleeps. */
  const note = async () => {
    const { rows } = await outbox.client.query<{ asleep: boolean }>(
      `select asleep_until > clock_timestamp() as asleep from ${outbox.schema}.relay_sleep`,
    );
    return rows[0];
  };
  const onWrite = (wait: typeof beforeWrite): void => {
    beforeWrite = wait;
  };
  return { hints, note, writes: () => writes, onWrite };
}

it('G15: a relay that is woken time and again does not write its note again: every writer would pass the old ones', async () => {
  const { hints, note, writes } = await openTest();
  await hints.announceSleep();
  // Nothing is asked in between: what takes long enough makes it right to write again.
  for (let event = 0; event < 5; event += 1) {
    await hints.announceAwake();
    await hints.announceSleep();
  }
  expect(writes()).toBe(1);
  expect(await note()).toEqual({ asleep: true });
});

it('a relay that stays awake says so after a while, and that it sleeps at once', async () => {
  const { hints, note } = await openTest(100);
  await hints.announceSleep();
  await hints.announceAwake();
  await waitFor('the note to say so', async () => (await note())?.asleep === false);
  await hints.announceSleep();
  expect(await note()).toMatchObject({ asleep: true });
});

it('a relay that sleeps again while it still says that it is awake has the last word', async () => {
  const { hints, note, writes, onWrite } = await openTest(0);
  await hints.announceSleep();
  const held = Promise.withResolvers<void>();
  onWrite(() => held.promise);
  const awake = hints.announceAwake();
  await waitFor('it to be on its way', () => writes() === 2);
  onWrite(async () => undefined);
  const asleep = hints.announceSleep();
  await note(); // time enough for a note that does not wait
  await note();
  held.resolve();
  await Promise.all([awake, asleep]);
  expect(await note()).toEqual({ asleep: true });
});
