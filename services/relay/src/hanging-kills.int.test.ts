import process from 'node:process';
import { createMetricSet } from '@tidemark/observability';
import { publish } from '@tidemark/outbox/postgres';
import { privateKafka, waitFor } from '@tidemark/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { byText, keysIn, openRelayTest, withCommit } from './testing/harness.ts';

/** Each takes as long as a broker to start: some are for a person, none for every run. */
const ROUNDS = Number(process.env['TIDEMARK_HANG_ROUNDS'] ?? '0');

it.skipIf(ROUNDS === 0)(
  'G17, P9: a broker is killed right after it has confirmed a transaction, again and again',
  {
    timeout: ROUNDS * 60_000 + 60_000,
  },
  async () => {
    const kafka = await privateKafka();
    onTestFinished(() => kafka.stop());
    const test = await openRelayTest({ kafka: kafka.address });
    const { namespace, topic, outbox } = test;
    const { metrics, render } = createMetricSet({ program: 'relay' });
    let killed: PromiseWithResolvers<void> | undefined;
    const cluster = withCommit(test.cluster, async (records, writer) => {
      await writer.commit(records);
      if (killed === undefined || !records.some((record) => record.topic === topic)) return;
      const round = killed;
      killed = undefined;
      await kafka.kill();
      round.resolve();
    });
    await test.startRelay({ cluster, metrics });
    const ended = async (): Promise<readonly string[]> =>
      (await render()).page.split('\n').filter((line) => line.startsWith('tidemark_relay_transactions_ended_total'));

    const sent: string[] = [];
    let hung = 0;
    for (let round = 1; round <= ROUNDS; round += 1) {
      const before = await ended();
      const kill = Promise.withResolvers<void>();
      killed = kill;
      const keys = Array.from({ length: 8 }, (_, n) => `${round}-${n}`);
      sent.push(...keys);
      await outbox.client.query('begin');
      for (const key of keys) await publish(outbox.client, { namespace, topic, key, type: 'x', payload: '{}' });
      await outbox.client.query('commit');
      await kill.promise;
      await kafka.start();
      await waitFor(`the rows of round ${round}`, async () => (await keysIn(test, topic)).length >= sent.length, {
        timeoutMs: 60_000,
        intervalMs: 500,
      });
      const after = await ended();
      if (after.join() !== before.join()) hung += 1;
      process.stdout.write(`round ${round}: ${hung} hung so far; ${after.join(' ')}\n`);
    }
    expect(await keysIn(test, topic)).toEqual(sent.sort(byText));
  },
);
