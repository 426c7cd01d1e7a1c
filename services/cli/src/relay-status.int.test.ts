import { publish } from '@tidemark/outbox/postgres';
import { openTestOutbox, type TestOutbox } from '@tidemark/outbox/testing';
import {
  addPartitions,
  createTopic,
  environmentOf,
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

async function publishRows(outbox: TestOutbox, topic: string, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1)
    await publish(outbox.client, { namespace: outbox.namespace, topic, key: `k${n}`, type: 'x', payload: '{}' });
}

it('tells who publishes, how far, and what waits', async () => {
  const namespace = uniqueNamespace('cli');
  const env = environmentOf(namespace);
  const outbox = await openTestOutbox({ url: services().postgres, namespace });
  onTestFinished(() => outbox.drop());
  const topic = await createTopic(uniqueName('cli'));
  const status = async (): Promise<unknown> =>
    JSON.parse((await cli(['relay', 'status', '-o', 'json'], env)).out.join('')) as unknown;

  await publishRows(outbox, topic, 2);
  expect(await status()).toEqual({
    relay: 'main',
    owner: null,
    publishedAt: null,
    snapshot: null,
    faults: [],
    backlog: null,
    blockers: [],
    parked: [],
    bootstraps: [],
  });

  const relay = spawnProgram({ script: scriptOf('relay'), env: { ...env, TIDEMARK_LEASE_TTL_MS: '120000' } });
  onTestFinished(() => relay.kill('SIGKILL'));
  await waitFor('both rows published', async () => {
    const { backlog } = (await status()) as { backlog: { rows: number } | null };
    return backlog?.rows === 0;
  });
  expect(await status()).toMatchObject({
    owner: expect.stringContaining(`/${relay.pid}/`),
    snapshot: expect.stringMatching(/^\d+:\d+:/),
    backlog: { rows: 0, isAtLeast: false, lagMs: null },
  });

  await relay.kill('SIGTERM');
  await publishRows(outbox, topic, 3);
  expect(await status()).toMatchObject({ owner: null, backlog: { rows: 3, isAtLeast: false } });
  const lines = (await cli(['relay', 'status'], env)).out.join('\n');
  expect(lines).toMatch(/publisher +nobody; "tidemark relay run" starts one/);
  expect(lines).toMatch(/waiting +3 rows, the oldest \d+ ms/);

  // Keys would move: said before anybody starts a relay, shown by a rebase, done by one that is told to.
  const rebase = (...args: readonly string[]) => cli(['relay', 'rebase', ...args], env);
  expect((await rebase()).out.join('\n')).toMatch(/position +fits\nnext +nothing to do/);
  await addPartitions(topic, 4);
  await waitFor('the fault', async () => ((await status()) as { faults: unknown[] }).faults.length > 0);
  expect(await status()).toMatchObject({ faults: [{ code: 'PARTITIONS_CHANGED' }], backlog: { rows: 3 } });
  expect((await cli(['relay', 'status'], env)).out.join('\n')).toMatch(
    /fault +PARTITIONS_CHANGED: topic ".*" has 4 partitions now, .* over 1; see "tidemark relay rebase"/,
  );
  const dryRun = await rebase();
  expect([dryRun.exitCode, dryRun.out.join('\n')]).toEqual([
    ExitCode.ok,
    expect.stringMatching(
      /order +topic ".*": from 0:\d+, 1:0, 2:0, 3:0 on .*\nundecided .*"tidemark relay rebase --accept-partitions --apply"/s,
    ),
  ]);
  expect((await rebase('--apply')).exitCode).toBe(ExitCode.conflict);
  const applied = await rebase('--apply', '--accept-partitions', '-o', 'json');
  expect(applied.exitCode).toBe(ExitCode.ok);
  expect(JSON.parse(applied.out.join(''))).toMatchObject({
    ...{ relay: 'main', needed: true, applied: true, fit: { kind: 'same' }, rows: null, extra: null, undecided: [] },
    moves: [{ topic, from: 1, to: 4, fromOffsets: [expect.stringMatching(/^\d+$/), '0', '0', '0'] }],
  });
  expect(await status()).toMatchObject({ faults: [], backlog: { rows: 3 } });
  expect((await rebase('--scan-from', '1700000000')).exitCode).toBe(ExitCode.usage);
});
