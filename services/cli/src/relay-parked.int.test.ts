import { publish } from '@tidemark/outbox/postgres';
import { openTestOutbox } from '@tidemark/outbox/testing';
import {
  createTopic,
  environmentOf,
  kafkaClient,
  produce,
  services,
  spawnProgram,
  uniqueName,
  uniqueNamespace,
  waitFor,
} from '@tidemark/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { ExitCode } from './exit-code.ts';
import { scriptOf } from './repository.ts';
import { cli } from './testing/test-terminal.ts';

/** Settings hold a moment after the broker has answered. */
async function allowRecords(topic: string, bytes: number): Promise<void> {
  const admin = kafkaClient().admin();
  await admin.connect();
  const configEntries = [{ name: 'max.message.bytes', value: String(bytes) }];
  await admin.alterConfigs({ validateOnly: false, resources: [{ type: 2, name: topic, configEntries }] });
  await admin.disconnect();
  await waitFor('the larger limit', () => produce(topic, [{ value: 'x'.repeat(bytes / 2) }]));
}

it('G7: shows the row that cannot be sent and what waits behind it, and tries it again when asked', async () => {
  const namespace = uniqueNamespace('cli');
  const env = environmentOf(namespace);
  const outbox = await openTestOutbox({ url: services().postgres, namespace });
  onTestFinished(() => outbox.drop());
  const topic = await createTopic(uniqueName('cli'), { configs: { 'max.message.bytes': '1000' } });
  const event = { namespace, topic, type: 'x' };
  const position = await publish(outbox.client, { ...event, key: 'big', payload: JSON.stringify('x'.repeat(2_000)) });
  await publish(outbox.client, { ...event, key: 'big', payload: '1' });
  await publish(outbox.client, { ...event, key: 'small', payload: '1' });

  expect((await cli(['relay', 'retry'], env)).exitCode).toBe(ExitCode.conflict);
  const relay = spawnProgram({ script: scriptOf('relay'), env: { ...env, TIDEMARK_LEASE_TTL_MS: '120000' } });
  onTestFinished(() => relay.kill('SIGKILL'));
  await relay.logged('key.parked');
  const status = async () =>
    JSON.parse((await cli(['relay', 'status', '-o', 'json'], env)).out.join('')) as {
      backlog: { rows: number } | null;
      parked: unknown[];
    };
  const parked = await waitFor('the parked key, and all else sent', async () => {
    const seen = await status();
    return seen.parked.length === 1 && seen.backlog?.rows === 0 && seen;
  });
  expect(parked).toMatchObject({
    parked: [{ topic, key: 'big', position: `${position}`, rows: 2, table: '', bytes: '2005' }],
  });
  expect((await cli(['relay', 'status'], env)).out.join('\n')).toMatch(
    /parked +topic ".*", key "big": the row at position \d+ \(2005 bytes\) cannot be sent: .*max\.message\.bytes; 1 more rows wait behind it/,
  );

  expect((await cli(['relay', 'retry', '--key', 'small'], env)).exitCode).toBe(ExitCode.notFound);
  const vain = await cli(['relay', 'retry', '--topic', topic, '--key', 'big'], env);
  expect(vain.exitCode).toBe(ExitCode.failed);
  expect(vain.out.join('\n')).toMatch(/^parked +topic ".*", key "big": .*max\.message\.bytes$/);

  await allowRecords(topic, 10_000);
  const sent = await cli(['relay', 'retry'], env);
  // It may have been tried by itself meanwhile.
  if (sent.exitCode !== ExitCode.notFound) expect(sent.out.join('\n')).toMatch(/^sent +topic ".*", key "big"$/);
  expect((await status()).parked).toEqual([]);
});
