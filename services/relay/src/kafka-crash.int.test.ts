import { publish } from '@tidemark/outbox/postgres';
import { privateKafka, waitFor } from '@tidemark/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { numbersByKey, openRelayTest } from './testing/harness.ts';

it('G5 (c), G6: 1,000 events of one key while the broker is killed once and stopped once: each once, in order', {
  timeout: 600_000,
}, async () => {
  const kafka = await privateKafka();
  onTestFinished(() => kafka.stop());
  const test = await openRelayTest({ kafka: kafka.address });
  const { namespace, topic, outbox, codec } = test;
  await test.startRelay();
  const send = async (from: number, to: number) => {
    for (let n = from; n <= to; n += 1) {
      await publish(outbox.client, { namespace, topic, key: 'k', type: 'x', payload: `{"n":${n}}` });
    }
  };
  // Commits whose acknowledgement was swallowed are not counted by the relay, so the log is asked.
  const untilSent = (count: number) =>
    waitFor(`${count} records`, async () => (await test.readAll(topic)).length >= count, {
      timeoutMs: 120_000,
      intervalMs: 500,
    });

  await send(1, 300);
  await untilSent(300);
  await kafka.kill();
  await send(301, 600);
  await kafka.start();
  await untilSent(600);

  const sending = send(601, 1_000);
  await kafka.shutdown();
  await sending;
  await kafka.start();
  await untilSent(1_000);
  expect((await numbersByKey(codec, await test.readAll(topic))).get('k')).toEqual(
    Array.from({ length: 1_000 }, (_, i) => i + 1),
  );
});
