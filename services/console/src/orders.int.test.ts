/** Series and dead letters over HTTP, looked at by anybody and changed by operators, on real services. */
import { type JobEvent, readRecord, SchemaName } from '@tidemark/contracts';
import { createCodec } from '@tidemark/contracts/registry';
import { readWindow } from '@tidemark/control';
import { deadLetterTopic, jobTopics } from '@tidemark/jobs';
import { cursorBefore } from '@tidemark/keyspace';
import { createKafkaCluster } from '@tidemark/log/kafka';
import { createTopic, produce, services, uniqueName, waitFor } from '@tidemark/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleOn, OPERATOR, type TestConsole } from './testing/console-on.ts';
import { openScene, type Scene } from './testing/scene.ts';
import { writeLetters } from './testing/written-letters.ts';
import * as letterSchemas from './view/letter-schemas.ts';
import * as seriesSchemas from './view/series-schemas.ts';

let scene: Scene;
let console_: TestConsole;

beforeAll(async () => {
  scene = await openScene();
  for (const program of [scene.start('distributor'), scene.start('worker')]) await program.logged('program.started');
  console_ = await consoleOn(scene.namespace);
});

afterAll(async () => {
  await console_?.stop('test');
  await scene?.close();
});

const HOUR_MS = 3_600_000n;

/** The body, when it has exactly the fields of its schema. */
async function checked<Value>(path: string, schema: { parse(value: unknown): Value }): Promise<Value> {
  const body = await console_.json(path);
  const parsed = schema.parse(body);
  expect(parsed, `${path} fits its schema`).toEqual(body);
  return parsed;
}

async function answered(
  response: Response,
): Promise<{ status: number; body: { error?: string; text?: string; jobId?: string | null; result?: string } }> {
  return { status: response.status, body: (await response.json()) as { error?: string } };
}

const post = async (path: string, body: object, token?: string | null) =>
  answered(await console_.post(path, body, token));

/** The audit trail of everything that begins with this id. */
async function trailOf(jobId: string): Promise<readonly JobEvent[]> {
  const { kafka, registry } = services();
  const cluster = createKafkaCluster({ brokers: [kafka], clientId: 'trail' });
  const codec = createCodec({ registryUrl: registry });
  try {
    const topic = await cluster.catalog.describe(jobTopics(scene.namespace).jobEvents);
    if (topic === undefined) throw new Error('there is no audit trail');
    const windows = (await cluster.catalog.offsets(topic)).map(({ partition, logStartOffset, lastStableOffset }) => ({
      partition,
      start: cursorBefore(logStartOffset),
      end: cursorBefore(lastStableOffset),
    }));
    const events: JobEvent[] = [];
    for await (const item of readWindow(cluster, topic, windows)) {
      if (item.kind !== 'record' || item.record.value === null || item.record.key?.toString() !== jobId) continue;
      events.push(readRecord(await codec.decode(item.record.value), SchemaName.jobEvent));
    }
    return events;
  } finally {
    await cluster.close();
  }
}

describe('series', () => {
  it('shows its runs as a chain and what it holds between them; an operator orders, and the trail says who and why', async () => {
    const topic = await scene.topic('nights', { partitions: 2, records: 10 });
    await scene.createSeries({ jobId: 'nightly', topic, handler: 'count' }, HOUR_MS);
    const path = '/api/series/nightly/orders';
    const run = { order: 'run', reason: 'the books are closed' };

    expect(await post(path, run, null)).toMatchObject({
      status: 403,
      body: { error: expect.stringContaining('viewer') },
    });
    expect(await post(path, run, 'a-token-of-nobody')).toMatchObject({ status: 401 });
    expect(await post(path, { order: 'run' })).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('reason') },
    });
    expect(await post(path, { order: 'run', reason: '  ' })).toMatchObject({ status: 400 });
    expect(await post(path, { order: 'explode', reason: 'why' })).toMatchObject({ status: 400 });
    expect(await post('/api/series/nobody/orders', run)).toMatchObject({ status: 404 });
    expect(await post(path, { ...run, order: 'resume' })).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('only a stopped one is resumed') },
    });
    expect((await scene.jobLog.series()).get('nightly')).toMatchObject({ status: 'ACTIVE', runs: 0n });

    expect(await post(path, run)).toMatchObject({ status: 200, body: { result: 'applied', jobId: 'nightly-1' } });
    await waitFor('the run to end', async () => (await scene.jobLog.series()).get('nightly')?.liveRun === '');
    await produce(topic, [{ value: 'new' }, { value: 'newer' }], { partition: 1 });
    await scene.orderSeries('nightly', 'run', ({ runs, liveRun }) => runs === 2n && liveRun === '');
    await produce(topic, [{ value: 'a' }, { value: 'b' }, { value: 'c' }], { partition: 0 });

    const series = await waitFor('the floors to be told', async () => {
      const seen = await checked('/api/series/nightly', seriesSchemas.seriesDetail);
      return seen.runs === '2' && seen.heldOffsets === '3' && seen;
    });
    expect(series).toMatchObject({
      status: 'ACTIVE',
      heldIsAtLeast: false,
      held: [{ partition: 0, offsets: '3' }],
      lastRun: { jobId: 'nightly-2', verdict: 'clean' },
      orders: ['run', 'delete'],
      faults: [],
      partitions: [
        { partition: 0, state: 'held', next: '10', floor: '10', highWatermark: '13', heldOffsets: '3' },
        { partition: 1, state: 'held', next: '12', floor: '12', highWatermark: '12', heldOffsets: '0' },
      ],
      chain: [
        { jobId: 'nightly-2', offsets: '2', skipped: '0', window: [{ partition: 1, start: '9', end: '11' }] },
        {
          jobId: 'nightly-1',
          offsets: '20',
          skipped: null,
          window: [
            { partition: 0, start: '-1', end: '9' },
            { partition: 1, start: '-1', end: '9' },
          ],
        },
      ],
    });
    expect((await checked('/api/series', seriesSchemas.seriesList)).series).toMatchObject([
      { series: 'nightly', heldOffsets: '3' },
    ]);

    expect(await post(path, { order: 'delete', reason: 'moved away' })).toMatchObject({ status: 200 });
    expect(await trailOf('series:nightly')).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          kind: 'SeriesRunOrdered',
          actor: `${OPERATOR.name}@console`,
          reason: 'the books are closed',
        }),
        expect.objectContaining({ kind: 'SeriesDeleted', actor: `${OPERATOR.name}@console`, reason: 'moved away' }),
      ]),
    );
    await waitFor(
      'the list without it',
      async () => (await checked('/api/series', seriesSchemas.seriesList)).series.length === 0,
    );
    expect(await checked('/api/series/nightly', seriesSchemas.seriesDetail)).toMatchObject({
      status: 'DELETED',
      reason: 'moved away',
      orders: [],
      heldOffsets: '0',
    });
    expect((await console_.get('/api/series/nobody')).status).toBe(404);
  });
});

describe('who sits here', () => {
  it('is told to whoever asks', async () => {
    const whoIs = async (headers: Record<string, string>) => answered(await console_.get('/api/session', headers));
    expect(await whoIs({})).toEqual({ status: 200, body: { role: 'viewer', name: null, hasOperators: true } });
    expect(await whoIs({ authorization: `Bearer ${OPERATOR.token}` })).toMatchObject({
      body: { role: 'operator', name: 'anna' },
    });
    expect(await whoIs({ authorization: 'Bearer wrong' })).toMatchObject({ status: 401 });
  });
});

describe('dead letters', () => {
  let topic: string;
  let path: string;

  beforeAll(async () => {
    topic = await scene.topic('orders', { partitions: 1, records: 3 });
    await produce(topic, [
      { key: 'k1', value: 'bad 1' },
      { key: 'k2', value: 'bad 2' },
      { key: 'k3', value: '{"bad":false}' },
      { key: 'k4', value: 'bad 4', headers: { own: 'kept' } },
    ]);
    await scene.submit({ jobId: 'picks', topic, handler: 'picky', attempts: 1 }, 'COMPLETED');
    path = `/api/dead-letters/${topic}`;
  });

  it('are told by topic, by what went wrong, in pages and one by one', async () => {
    // By a console that nobody has looked at yet, so by its first answer in which they are known.
    const unseen = await consoleOn(scene.namespace);
    const topics = async () => letterSchemas.letterTopics.parse(await unseen.json('/api/dead-letters'));
    await waitFor('the topics to be known', async () => (await topics()).unknown === null);
    expect((await topics()).topics).toContainEqual(expect.objectContaining({ topic, offsets: '3' }));
    await unseen.stop('test');
    expect(await checked(path, letterSchemas.letterGroups)).toMatchObject({
      letterTopic: deadLetterTopic(topic),
      offsetsPassed: '3',
      offsetsTotal: '3',
      groups: [
        { jobId: 'picks', handler: 'picky', faultClass: 'data', letters: 3, newest: { partition: 0, offset: '2' } },
      ],
      cutShort: [],
    });
    const page = (query: string) => checked(`${path}/letters?${query}`, letterSchemas.letterPage);
    const keysOf = ({ letters }: letterSchemas.LetterPage) => letters.map(({ key }) => key.text);
    expect(keysOf(await page('limit=2'))).toEqual(['k1', 'k2']);
    expect(await page('limit=2')).toMatchObject({ next: '0:2', offsetsPassed: '2', offsetsTotal: '3' });
    expect(await page('from=0:2')).toMatchObject({ letters: [{ key: { text: 'k4' } }], next: null });
    expect(keysOf(await page('key=k2'))).toEqual(['k2']);
    expect(keysOf(await page('job=nobody'))).toEqual([]);
    expect(keysOf(await page('class=transient'))).toEqual([]);
    expect(keysOf(await page('class=data&job=picks&partition=0'))).toHaveLength(3);
    for (const wrong of ['from=here', 'from=0:-1', 'limit=0', 'limit=201', 'partition=x'])
      expect((await console_.get(`${path}/letters?${wrong}`)).status, wrong).toBe(400);

    expect(await checked(`${path}/letters/0/2`, letterSchemas.letter)).toMatchObject({
      origin: { topic, partition: 0, offset: '6' },
      jobId: 'picks',
      key: { kind: 'text', text: 'k4', bytes: 2 },
      value: { kind: 'text', text: 'bad 4', bytes: 5, isCut: false },
      base64: { text: Buffer.from('bad 4').toString('base64'), isCut: false },
      headers: expect.arrayContaining([{ name: 'own', value: expect.objectContaining({ text: 'kept' }) }]),
    });
    for (const missing of ['0/99', '7/0', '0/9223372036854775807'])
      expect((await console_.get(`${path}/letters/${missing}`)).status, missing).toBe(404);
    for (const wrong of ['x/0', '0/-1', '0/99999999999999999999'])
      expect((await console_.get(`${path}/letters/${wrong}`)).status, wrong).toBe(400);
    expect((await console_.get('/api/dead-letters/no-such-topic')).status).toBe(404);
    expect((await console_.get('/api/dead-letters/no-such-topic/letters')).status).toBe(404);
    expect((await console_.get('/api/dead-letters/%3Cscript%3E/letters')).status).toBe(400);
    // A legal name that leaves no room for the ending of its dead letters.
    const long = await createTopic(uniqueName('long').padEnd(249, 'x'));
    for (const tail of ['', '/letters', '/redrive?handler=count'])
      expect((await console_.get(`/api/dead-letters/${long}${tail}`)).status, tail).toBe(200);
    await scene.submit({ jobId: 'long', topic: long, handler: 'count' }, 'COMPLETED');
    await waitFor('the list of topics with a job over that one', async () => {
      const list = await checked('/api/dead-letters', letterSchemas.letterTopics);
      return list.unknown === null && list.topics.length > 0;
    });
    const clean = await createTopic(uniqueName('clean'));
    expect(await checked(`/api/dead-letters/${clean}`, letterSchemas.letterGroups)).toMatchObject({
      letterTopic: null,
      groups: [],
    });
  });

  it('L4: every byte is a download, and nothing that a browser would show', async () => {
    const response = await console_.get(`${path}/letters/0/2/value`);
    expect(await response.text()).toBe('bad 4');
    expect(response.headers.get('content-disposition')).toBe(`attachment; filename="${topic}-0-2.value.bin"`);
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('an operator corrects one and hands them over again; pressed twice it is one job', async () => {
    const edit = `${path}/letters/0/0/edit`;
    const correction = { value: { text: 'good 1' }, reason: 'a typo' };
    const wish = { job: 'picks', id: 'again', reason: 'the handler is mended' };
    for (const [where, body] of [
      [edit, correction],
      [`${path}/redrive`, wish],
    ] as const) {
      expect((await post(where, body, null)).status, where).toBe(403);
      expect((await post(where, body, 'a-token-of-nobody')).status, where).toBe(401);
      expect((await post(where, { ...body, reason: '' })).status, where).toBe(400);
    }
    expect((await scene.jobLog.states()).has('again')).toBe(false);
    expect(await checked(path, letterSchemas.letterGroups)).toMatchObject({ offsetsTotal: '3' });

    expect(await post(edit, { reason: 'why' })).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('value or key') },
    });
    expect(await post(edit, { ...correction, value: { text: 'bad 1' } })).toMatchObject({ status: 409 });
    // A word that nobody knows may be a narrower wish, written in a wrong way.
    for (const [where, body] of [
      [edit, { ...correction, dryrun: true }],
      [edit, { ...correction, value: { text: 'good 1', json: '1' } }],
      [edit, { ...correction, key: { text: 'k1', base64: '' } }],
      [`${path}/redrive`, { ...wish, clas: 'timeout' }],
    ] as const)
      expect(await post(where, body), JSON.stringify(body)).toMatchObject({ status: 400 });
    expect((await scene.jobLog.states()).has('again')).toBe(false);
    expect(await post(edit, { ...correction, dryRun: true })).toMatchObject({
      status: 200,
      body: { result: 'dry run' },
    });
    expect(await checked(path, letterSchemas.letterGroups)).toMatchObject({ offsetsTotal: '3' });
    expect(await post(edit, correction)).toMatchObject({ status: 200, body: { result: 'applied' } });
    const { letters } = await checked(`${path}/letters?key=k1`, letterSchemas.letterPage);
    expect(letters).toMatchObject([
      { edit: 0, value: { text: 'bad 1' } },
      { edit: 1, value: { text: 'good 1' } },
    ]);
    expect(await checked(`${path}/letters/0/${letters[1]?.offset}`, letterSchemas.letter)).toMatchObject({
      edited: { partition: 0, offset: '0', by: `${OPERATOR.name}@console`, note: 'a typo' },
    });
    expect(await post(edit, correction)).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('edit that one') },
    });

    const plan = (query: string) => checked(`${path}/redrive?${query}`, letterSchemas.redrivePlan);
    expect(await plan('job=picks')).toEqual({
      handler: 'picky',
      letters: 3,
      edited: 1,
      byClass: { data: 3 },
      byRound: { 1: 3 },
      left: [expect.stringMatching(/^1 more are of records of which/)],
    });
    expect(await plan('job=picks&class=timeout')).toMatchObject({ letters: 0 });
    expect((await console_.get(`${path}/redrive`)).status).toBe(400);
    expect((await console_.get(`${path}/redrive?job=nobody`)).status).toBe(404);
    expect((await console_.get(`${path}/redrive?job=picks&maxRounds=0`)).status).toBe(400);
    expect((await console_.get(`${path}/redrive?job=picks&clas=timeout`)).status).toBe(400);

    expect(await post(`${path}/redrive`, { ...wish, class: 'timeout' })).toMatchObject({ status: 409 });
    expect(await post(`${path}/redrive`, { ...wish, handler: 'nobody-has-it' })).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('no worker has announced') },
    });
    const again = await Promise.all([post(`${path}/redrive`, wish), post(`${path}/redrive`, wish)]);
    expect(again.map(({ status, body }) => [status, body.jobId])).toEqual([
      [200, 'again'],
      [200, 'again'],
    ]);
    await waitFor('the redrive to end', async () => (await scene.jobLog.states()).get('again')?.state === 'COMPLETED');
    expect((await scene.jobLog.states()).get('again')).toMatchObject({
      request: { requestedBy: `${OPERATOR.name}@console`, note: 'the handler is mended' },
      totals: { ok: 1n, deadLettered: 2n },
    });
    expect(await post(`${path}/redrive`, wish)).toMatchObject({
      status: 200,
      body: { text: expect.stringContaining('before') },
    });
    expect(await checked(path, letterSchemas.letterGroups)).toMatchObject({
      groups: expect.arrayContaining([expect.objectContaining({ jobId: 'again' })]),
    });
  });
});

describe('what a value is', () => {
  it('JSON comes digit by digit, Avro is decoded by its schema, bytes are base64, and a correction is encoded again', async () => {
    const topic = await createTopic(uniqueName('forms'));
    const codec = createCodec({ registryUrl: services().registry });
    const carried = await codec.encodeJsonFor(topic, '{"id":9007199254740993,"amount":1.10}');
    const command = {
      formatVersion: 1,
      commandId: 'c',
      jobId: 'j',
      command: 'pause',
      reason: '',
      actor: '',
      force: false,
      deadlineMs: 9007199254740993n,
      budget: null,
      deadLettersMax: -1n,
    };
    await writeLetters(topic, [
      { key: 'json', value: carried },
      { key: 'avro', value: await codec.encode(SchemaName.jobCommand, command) },
      { key: 'bytes', value: Buffer.from([0, 255, 254]) },
      { key: 'unseen', value: 'to\u202etxt.exe' },
    ]);
    const path = `/api/dead-letters/${topic}/letters`;
    const shown = async (offset: number) => (await checked(`${path}/0/${offset}`, letterSchemas.letter)).value;
    expect(await shown(0)).toMatchObject({
      kind: 'json',
      text: '{"id":9007199254740993,"amount":1.10}',
      bytes: carried.length,
    });
    expect(await checked(`${path}/0/1`, letterSchemas.letter)).toMatchObject({
      schema: SchemaName.jobCommand,
      value: { kind: 'avro', text: expect.stringContaining('"deadlineMs":"9007199254740993"') },
    });
    expect(await shown(2)).toMatchObject({ kind: 'binary', text: 'AP/+', bytes: 3 });
    expect(await shown(3)).toMatchObject({ kind: 'text', text: 'to\\u202etxt.exe', isEscaped: true });
    const { letters } = await checked(path, letterSchemas.letterPage);
    expect(letters.map(({ value }) => value.kind)).toEqual(['json', 'avro', 'binary', 'text']);

    const correct = (offset: number, value: object) => post(`${path}/0/${offset}/edit`, { value, reason: 'why not' });
    expect(await correct(0, { json: '{"id":9007199254740995}' })).toMatchObject({ status: 200 });
    expect(await correct(0, { json: '{"id":' })).toMatchObject({ status: 422 });
    expect(await correct(2, { base64: 'AAE=' })).toMatchObject({ status: 200 });
    expect(await correct(2, { base64: 'not base64' })).toMatchObject({ status: 400 });
    expect(await correct(3, { tombstone: true })).toMatchObject({ status: 200 });
    const copies = (await checked(path, letterSchemas.letterPage)).letters.filter(({ edit }) => edit === 1);
    expect(copies.map(({ value: { kind, text } }) => [kind, text])).toEqual([
      ['json', '{"id":9007199254740995}'],
      ['binary', 'AAE='],
      ['none', ''],
    ]);
  });
});

it('what a correction begins with, given back as a browser does, changes no byte', async () => {
  const topic = await createTopic(uniqueName('forms'));
  const codec = createCodec({ registryUrl: services().registry });
  // As the outbox writes a row of a topic without a schema of its own.
  const carried = await codec.encodeJsonFor(topic, '{"id":9007199254740993,"amount":1.10}');
  const values = ['plain', 'one\r\ntwo\r\n', '{"id":9007199254740993}', '[1,\r\n2]', carried, Buffer.from([1, 0, 255])];
  await writeLetters(
    topic,
    values.map((value, index) => ({ key: `k${index}`, value })),
  );
  const path = `/api/dead-letters/${topic}/letters`;
  const forms: (string | null)[] = [];
  for (const offset of values.keys()) {
    const letter = await checked(`${path}/0/${offset}`, letterSchemas.letter);
    forms.push(letter.correctAs);
    if (letter.correctAs === null) continue;
    const text = letter.correctAs === 'base64' ? letter.base64?.text : letter.value.text;
    // A text area has line feeds only.
    const value = { [letter.correctAs]: text?.replaceAll(/\r\n?/g, '\n') };
    expect(await post(`${path}/0/${offset}/edit`, { value, reason: 'nothing' }), `offset ${offset}`).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('already') },
    });
  }
  expect(forms).toEqual(['text', 'base64', 'text', 'base64', 'json', 'base64']);
});

const MEBIBYTE = 1_024 * 1_024;

describe('much and large', () => {
  it('L5: a value of 8 MiB among 100 small ones: all are listed, with true sizes and few bytes', async () => {
    const topic = await createTopic(uniqueName('large'));
    const large = JSON.stringify({ text: 'ä'.repeat(4 * MEBIBYTE) });
    const small = Array.from({ length: 100 }, (_, index) => ({ key: `k${index}`, value: `{"n":${index}}` }));
    await writeLetters(topic, [...small.slice(0, 50), { key: 'large', value: large }, ...small.slice(50)]);
    const path = `/api/dead-letters/${topic}/letters`;
    const letters: letterSchemas.LetterRow[] = [];
    // A look that took long ends early, and the next one goes on.
    for (let from: string | null = '0:0'; from !== null; ) {
      const text = await (await console_.get(`${path}?from=${from}`)).text();
      expect(Buffer.byteLength(text)).toBeLessThan(512 * 1_024);
      const page = letterSchemas.letterPage.parse(JSON.parse(text));
      letters.push(...page.letters);
      from = page.next;
    }
    expect(letters).toHaveLength(101);
    const bytes = Buffer.byteLength(large);
    expect(letters[50]).toMatchObject({ key: { text: 'large' }, value: { bytes, isCut: true } });
    const text = await (await console_.get(`${path}/0/50`)).text();
    expect(Buffer.byteLength(text)).toBeLessThan(512 * 1_024);
    expect(letterSchemas.letter.parse(JSON.parse(text))).toMatchObject({
      value: { kind: 'text', bytes, isCut: true },
      base64: { isCut: true },
    });
    expect(await (await console_.get(`${path}/0/50/value`)).text()).toBe(large);
  });

  it('L5: a search among many for what is not there is looks of bounded size, each with how far it came', async () => {
    const topic = await createTopic(uniqueName('many'));
    await writeLetters(
      topic,
      Array.from({ length: 60_000 }, (_, index) => ({ key: `k${index}`, value: 'x', error: `bad at ${index}` })),
    );
    const passed: string[] = [];
    for (let from: string | null = '0:0'; from !== null; ) {
      const page: letterSchemas.LetterPage = await checked(
        `/api/dead-letters/${topic}/letters?key=nobody&from=${from}`,
        letterSchemas.letterPage,
      );
      expect(page).toMatchObject({ letters: [], offsetsTotal: '60000', cutShort: [] });
      passed.push(page.offsetsPassed);
      from = page.next;
    }
    expect(passed.length).toBeGreaterThan(1);
    expect(passed.at(-1)).toBe('60000');
    expect(passed.map(Number)).toEqual(passed.map(Number).sort((a, b) => a - b));

    const counted: string[] = [];
    const groups = await waitFor('all to be counted', async () => {
      const seen = await checked(`/api/dead-letters/${topic}`, letterSchemas.letterGroups);
      counted.push(seen.offsetsPassed);
      return seen.offsetsPassed === seen.offsetsTotal && seen;
    });
    expect(groups).toMatchObject({
      groups: [{ letters: 60_000, error: 'bad at #', newest: { offset: '59999' } }],
      others: 0,
    });
    expect(counted.map(Number)).toEqual(counted.map(Number).sort((a, b) => a - b));
  });
});
