/** Windows before they are run, and reading topics, on real services; no program of ours runs. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCodec } from '@tidemark/contracts/registry';
import { partitionOfKey } from '@tidemark/keyspace';
import {
  createTopic,
  environmentOf,
  kafkaClient,
  produce,
  produceTransactions,
  uniqueName,
  uniqueNamespace,
} from '@tidemark/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliRun, cli } from './testing/test-terminal.ts';

const T0 = 1_700_000_000_000;
const KEEP_OLD = { configs: { 'retention.ms': '-1' } };

const namespace = uniqueNamespace('cliwin');
let env: ReturnType<typeof environmentOf>;
let folder: string;

const run = (...args: readonly string[]): Promise<CliRun> => cli(args, env);
const json = (result: CliRun): unknown => JSON.parse(result.out.join(''));

beforeAll(async () => {
  env = environmentOf(namespace);
  folder = await mkdtemp(join(tmpdir(), 'tidemark-export-'));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function ofNamespace(): Promise<readonly string[]> {
  const admin = kafkaClient().admin();
  await admin.connect();
  try {
    const { groups } = await admin.listGroups();
    return [...(await admin.listTopics()), ...groups.map(({ groupId }) => groupId)].filter((name) =>
      name.startsWith(namespace),
    );
  } finally {
    await admin.disconnect();
  }
}

describe('a window before it is run', () => {
  let topic: string;

  beforeAll(async () => {
    topic = await createTopic(uniqueName('cli-window'), { partitions: 2, ...KEEP_OLD });
    // In no order of time.
    await produce(
      topic,
      [7, 0, 9, 3, 5, 1, 8, 2, 6, 4].map((second) => ({
        value: `second ${second}`,
        timestamp: String(T0 + second * 1_000),
      })),
    );
  });

  it.each([
    ['after the last record', T0 + 3_600_000, T0 + 7_200_000, '0', '0'],
    ['before the first', T0 - 7_200_000, T0 - 3_600_000, '10', '0'],
    ['half of them', T0 - 3_600_000, T0 + 4_500, '10', '5'],
    ['the later half', '2023-11-15T03:43:24.500+05:30', T0 + 9_001, '10', '5'],
  ])(
    'C1, C3: %s: the preview counts what reading brings, out of order as it is',
    async (_, from, to, offsets, matched) => {
      const window = ['--from', String(from), '--to', String(to)];
      expect(json(await run('window', topic, ...window, '-o', 'json'))).toMatchObject({
        sum: { offsets, matched: { value: matched, exact: true } },
      });
      const read = await run('topic', 'read', topic, ...window, '-o', 'jsonl');
      expect(read.out).toHaveLength(Number(matched));
    },
  );

  it('a submit and the window show the same plan, and neither creates anything', async () => {
    const window = ['--from', '0:2,1:0', '--to', '0:99,1:0', '--records-per-second', '4', '-o', 'json'];
    const plan = json(await run('window', topic, ...window)) as object;
    expect(plan).toMatchObject({
      partitions: [
        {
          first: '2',
          last: '9',
          offsets: '8',
          matched: { value: '8', exact: true },
          bytes: { value: '64', exact: true },
          clamped: 'end 99 is beyond the log, which ends at 9',
          floor: { offset: '2', heldOffsets: '8', oldest: '2023-11-14T22:13:29.000Z' },
        },
        { first: null, last: null, offsets: '0', floor: null },
      ],
      sum: { offsets: '8', moreOffsets: null },
      time: { kind: 'about', seconds: 2 },
      floorsUnknown: expect.stringMatching(/a distributor fills it/),
    });
    const submit = ['job', 'submit', '--topic', topic, '--handler', 'nobody', '--id', 'dry', '--allow-unknown-handler'];
    const dry = await run(...submit, '--dry-run', ...window);
    expect(json(dry)).toEqual({ jobId: 'dry', dryRun: true, ranges: 1, holdForAuditMs: '0', ...plan });
    expect(await ofNamespace()).toEqual([]);
    const lines = (await run(...submit, '--dry-run')).out.join('\n');
    expect(lines).toMatch(/^would cover 10 offsets .* nothing was requested/);
    expect(lines).toMatch(/time: unknown; no pace is known/);
    expect(await run(...submit, '--count')).toMatchObject({
      exitCode: 2,
      notes: [expect.stringMatching(/need --dry-run/)],
    });
  });

  it('is planned while Redis is down, and says that nobody knows who else holds the log', async () => {
    const window = await cli(['window', topic], { ...env, TIDEMARK_REDIS: 'redis://127.0.0.1:1' });
    expect(window.exitCode).toBe(0);
    expect(window.out.at(-1)).toMatch(/not known: Redis at 127.0.0.1:1 .* does not answer/);
  });
});

describe('reading a topic', () => {
  let topic: string;
  const header = Buffer.from([255, 0, 1]);
  const sent = [
    { key: 'text', value: 'plain', headers: { twice: ['one', 'two'], bytes: header } },
    { key: null, value: Buffer.alloc(0) },
    { key: '', value: null },
    { key: Buffer.from([0, 255, 254]), value: Buffer.from([0, 0, 0, 0, 255, 1]) },
    { key: 'text', value: '\u202ered' },
  ];

  beforeAll(async () => {
    topic = await createTopic(uniqueName('cli-read'), { partitions: 3 });
    const aborted = { outcome: 'abort' as const, messages: [{ key: 'text', value: 'never' }] };
    const partition = partitionOfKey(Buffer.from('text'), 3);
    await produceTransactions(topic, [aborted, { outcome: 'commit', messages: sent }, aborted], { partition });
    const avro = await createCodec({ registryUrl: env.TIDEMARK_REGISTRY }).encodeJsonFor(
      topic,
      '{"id":9007199254740993}',
    );
    await produce(topic, [{ key: 'other', value: avro }], { partition: (partition + 1) % 3 });
  });

  const read = (...more: readonly string[]): Promise<CliRun> => run('topic', 'read', topic, ...more);

  it('D2: exports every byte of what was committed, and nothing of what was aborted', async () => {
    const file = join(folder, 'all.jsonl');
    const partition = String(partitionOfKey(Buffer.from('text'), 3));
    const exported = await read('--partition', partition, '--export', file, '-o', 'json');
    expect(json(exported)).toEqual({ file, records: sent.length, next: null });
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    const records = lines.map(
      (line) => JSON.parse(line) as { key: string | null; value: string | null; headers: unknown },
    );
    const base64 = (bytes: Buffer | string | null) => (bytes === null ? null : Buffer.from(bytes).toString('base64'));
    expect(records).toMatchObject(
      sent.map(({ key, value }) => ({ topic, partition: Number(partition), key: base64(key), value: base64(value) })),
    );
    expect(records[0]?.headers).toEqual([
      ['twice', base64('one')],
      ['twice', base64('two')],
      ['bytes', base64(header)],
    ]);
    const again = await read('--export', file);
    expect(again).toMatchObject({ exitCode: 5, notes: [expect.stringMatching(/is there already: name another/)] });
    expect(await readFile(file, 'utf8')).toBe(`${lines.join('\n')}\n`);
  });

  it('exports the value of one record, and refuses several, none, and a tombstone', async () => {
    const file = join(folder, 'value.bin');
    const one = (...more: readonly string[]): Promise<CliRun> => read('--export', file, '--value-only', ...more);
    expect((await one('--key-hex', '00fffe')).exitCode).toBe(0);
    expect(await readFile(file)).toEqual(sent[3]?.value);
    await rm(file);
    expect(await one('--key', 'text')).toMatchObject({ exitCode: 2, notes: [expect.stringMatching(/more than one/)] });
    expect(await one('--key', 'nobody')).toMatchObject({ exitCode: 3 });
    expect(await one('--key', '')).toMatchObject({ exitCode: 5, notes: [expect.stringMatching(/tombstone/)] });
    expect(await readdir(folder)).not.toContain('value.bin');
  });

  it('finds a key in its own partition alone, stops at the limit and goes on where it stopped', async () => {
    const found = await read('--key', 'text', '--partitioner', 'murmur2', '--limit', '1', '-o', 'jsonl');
    expect(found.out.map((line) => JSON.parse(line) as object)).toMatchObject([{ value: { text: 'plain' } }]);
    const [place] = /\d+:\d+(?= goes on)/.exec(found.notes.join('')) ?? [''];
    const rest = await read('--key', 'text', '--continue', place, '-o', 'jsonl');
    expect(rest.out).toHaveLength(1);
    expect(rest.notes).toEqual([]);
  });

  it('L4: shows a terminal nothing that could do something to it, and decodes by the registry unless told not to', async () => {
    const { out } = await read();
    expect(out).toHaveLength(sent.length + 1);
    for (const line of out) expect(line).toMatch(/^[\x20-\x7e]*$/);
    expect(out.join('\n')).toContain('{"id":9007199254740993}');
    expect((await read('--raw')).out.join('\n')).not.toContain('{"id"');
  });
});
