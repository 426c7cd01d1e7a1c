/** What the logs must keep, through the command line, with a distributor of its own and a job that nobody works on. */
import {
  createTopic,
  deleteRecordsBefore,
  environmentOf,
  produce,
  spawnProgram,
  uniqueName,
  uniqueNamespace,
} from '@tidemark/testkit';
import { expect, it, onTestFinished } from 'vitest';
import { scriptOf } from './repository.ts';
import { cli } from './testing/test-terminal.ts';

it('shows floors and their holders, and one cycle of the guard leaves what is held', async () => {
  const env = environmentOf(uniqueNamespace('cli'));
  const topic = await createTopic(uniqueName('cli'), { partitions: 2, configs: { 'retention.ms': '-1' } });
  await produce(
    topic,
    [...'abcdef'].map((value) => ({ partition: 0, value })),
  );
  const distributor = spawnProgram({ script: scriptOf('distributor'), env });
  onTestFinished(() => distributor.kill('SIGTERM'));
  await distributor.logged('program.started');

  expect((await cli(['retention', 'status'], env)).out).toEqual([expect.stringMatching(/^no unfinished job needs/)]);
  const before = await cli(['retention', 'status', topic, '-o', 'jsonl'], env);
  expect(before.out.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { partition: 0, state: 'not filled', mark: null, floor: null },
    { partition: 1, state: 'not filled' },
  ]);

  const submit = ['job', 'submit', '--topic', topic, '--handler', 'slow', '--allow-unknown-handler', '--id', 'slow'];
  expect((await cli([...submit, '--from', '0:2,1:0'], env)).exitCode).toBe(0);
  const { out } = await cli(['retention', 'status', '-o', 'json'], env);
  expect(JSON.parse(out.join(''))).toMatchObject([
    {
      topic,
      partition: 0,
      logStartOffset: '0',
      highWatermark: '6',
      mark: '0',
      floor: '2',
      holder: 'slow',
      heldOffsets: '4',
      heldBytes: '4',
      state: 'held',
    },
    { topic, partition: 1, floor: null },
  ]);
  expect((await cli(['retention', 'status'], env)).out[0]).toMatch(
    /^TOPIC +PARTITION +LOG START +MARK +FLOOR +LOG END/,
  );

  const cycle = async () => {
    const args = ['retention', 'run', '--topics', `${topic}=0s`];
    const run = spawnProgram({ script: 'services/cli/src/main.ts', args, env });
    const { code } = await run.exit;
    const answers = run.lines.filter((line) => line.startsWith('{"topic"'));
    return { code, answers: answers.map((line) => JSON.parse(line) as unknown) };
  };
  const first = await cycle();
  expect(first).toMatchObject({ code: 0 });
  expect(first.answers).toMatchObject([
    { partition: 0, outcome: 'cut', cutOffsets: '2', floor: '2', holder: 'slow' },
    { partition: 1 },
  ]);
  const after = await cli(['retention', 'status', topic, '-o', 'jsonl'], env);
  expect(JSON.parse(after.out[0] ?? '')).toMatchObject({ logStartOffset: '2', mark: '2' });

  // Somebody else takes what the job needs.
  await deleteRecordsBefore(topic, 0, 4n);
  const robbed = await cycle();
  expect(robbed).toMatchObject({ code: 1 });
  const needed = [{ holder: 'slow', from: '2', to: '4' }];
  expect(robbed.answers).toMatchObject([{ removals: [{ from: '2', to: '4', needed }] }, { removals: [] }]);
  const status = await cli(['retention', 'status', topic], env);
  expect(status.notes).toEqual([expect.stringContaining('somebody else removed [2, 4)')]);
  expect(status.notes.join('\n')).toMatch(/needed by slow \[2, 4\)$/);
});

it('says what is wrong with a topic or a policy', async () => {
  const env = environmentOf(uniqueNamespace('cli'));
  const missing = await cli(['retention', 'status', 'no-such-topic'], env);
  expect([missing.exitCode, missing.notes.join('\n')]).toEqual([3, expect.stringContaining('no-such-topic')]);
  const guard = spawnProgram({ script: 'services/cli/src/main.ts', args: ['guard', '--topics', 'orders=soon'], env });
  expect((await guard.exit).code).toBe(2);
  expect(guard.lines.join('\n')).toContain('"soon" is no bound');
});
