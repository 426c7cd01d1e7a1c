import { type DeadLetterFacts, placeText } from '@tidemark/jobs';
import { createMemoryCluster, type MemoryCluster } from '@tidemark/log/testing';
import { beforeEach, expect, it } from 'vitest';
import { type DeadLetter, deadLetters, letterTopic } from './dead-letters.ts';
import { editLetter, type LetterEdit } from './edit-letter.ts';
import { EDIT_FOLLOWERS_MAX } from './limits.ts';
import { writeLetters } from './testing/letters.ts';

let cluster: MemoryCluster;
beforeEach(() => {
  cluster = createMemoryCluster();
});

async function edit(fields: Partial<LetterEdit> & { readonly offset: bigint }, dryRun = false) {
  const letters = await letterTopic(cluster, 't');
  if (letters === undefined) throw new Error('no letters');
  const change = { partition: 0, by: 'me@here', note: 'typo', ...fields };
  return await editLetter(cluster, letters, change, { namespace: 'ns', dryRun });
}

async function all(): Promise<readonly DeadLetter[]> {
  const letters = await letterTopic(cluster, 't');
  const found: DeadLetter[] = [];
  if (letters === undefined) return found;
  for await (const item of deadLetters(cluster, letters)) if (item.kind === 'letter') found.push(item.letter);
  return found;
}

const line = ({ origin, edit: number, record: { key, value } }: DeadLetter): string =>
  `${placeText(origin)} edit ${number} ${key} ${value}`;

it('D2: appends a copy that points to the letter, which stays as it is; what is not changed is kept byte by byte', async () => {
  await writeLetters(cluster, [{ offset: 7, topicId: 'id', round: 3, faultClass: 'transient' }]);
  const [letter] = await all();
  for (const value of [Buffer.from([0, 0xff]), Buffer.alloc(0), null]) {
    const newest = (await all()).at(-1);
    expect(await edit({ offset: newest?.record.offset ?? 0n, value })).toMatchObject({ kind: 'planned' });
    expect((await all()).at(-1)).toMatchObject({
      origin: letter?.origin as DeadLetterFacts['origin'],
      jobId: 'job-1',
      faultClass: 'transient',
      round: 3,
      topicId: 'id',
      edit: (newest?.edit ?? 0) + 1,
      edited: { of: { partition: 0, offset: newest?.record.offset }, by: 'me@here', note: 'typo' },
      record: { key: letter?.record.key, value },
    });
    expect((await all()).at(-1)?.record.headers[0]).toEqual(['own', Buffer.from('kept')]);
  }
  expect((await all())[0]).toEqual(letter);
});

it('keeps the order of the key: later letters of it are copied behind, those that were corrected as they are now', async () => {
  await writeLetters(cluster, [
    { offset: 1 },
    { offset: 2 },
    { offset: 3, key: 'other' },
    { offset: 4 },
    { offset: 5, key: null },
    { offset: 2, edit: 1, value: 'corrected' },
    { offset: 2, round: 2 },
    { offset: 6, form: 'pointer' },
    { offset: 1, partition: 1 },
  ]);
  const answer = await edit({ offset: 0n, value: Buffer.from('new') });
  expect(answer).toMatchObject({ kind: 'planned' });
  expect((await all()).filter(({ record }) => record.offset > 7n).map(line)).toEqual([
    '0:1 edit 1 k new',
    '0:4 edit 1 k v4',
    '0:2 edit 2 k corrected',
  ]);
});

it('keeps a correction that gave a later record another key: its old letter is not copied over it', async () => {
  await writeLetters(cluster, [{ offset: 1 }, { offset: 2 }, { offset: 3 }]);
  await edit({ offset: 1n, key: Buffer.from('other'), value: Buffer.from('corrected') });
  await edit({ offset: 0n, value: Buffer.from('new') });
  expect((await all()).slice(3).map(line)).toEqual([
    '0:2 edit 1 other corrected',
    '0:1 edit 1 k new',
    '0:3 edit 1 k v3',
  ]);
});

it('does not copy another letter of the same record behind its correction, though an older worker named no topic id', async () => {
  const { topicId } = cluster.createTopic('t');
  await writeLetters(cluster, [
    { offset: 1, topicId },
    { offset: 1, job: 'older' },
  ]);
  expect(await edit({ offset: 0n, value: null })).toEqual({ kind: 'not the newest', newest: '0:1' });
  expect(await edit({ offset: 1n, value: null })).toMatchObject({ kind: 'planned', copies: [{}] });
});

it('does not take letters before the one that is edited for followers of it, however many there are', async () => {
  const before = Array.from({ length: EDIT_FOLLOWERS_MAX + 1 }, (_, offset) => ({ offset }));
  await writeLetters(cluster, [...before, { offset: EDIT_FOLLOWERS_MAX + 1 }]);
  const answer = await edit({ offset: BigInt(EDIT_FOLLOWERS_MAX + 1), value: null });
  expect(answer).toMatchObject({ kind: 'planned', copies: [{}] });
});

it('copies nothing behind a record that gets another key, or that has none', async () => {
  await writeLetters(cluster, [{ offset: 1 }, { offset: 2 }, { offset: 3, key: null }, { offset: 4, key: null }]);
  await edit({ offset: 0n, key: Buffer.from('other') });
  await edit({ offset: 2n, value: Buffer.from('new') });
  expect((await all()).slice(4).map(line)).toEqual(['0:1 edit 1 other v1', '0:3 edit 1 null new']);
});

it.each([
  ['a place where nothing is', { offset: 9n, value: null }, { kind: 'not found' }],
  ['a partition that is none', { offset: 0n, partition: 7, value: null }, { kind: 'not found' }],
  [
    'what changes nothing',
    { offset: 0n, key: Buffer.from('k'), value: Buffer.from('v1') },
    { kind: 'nothing changes' },
  ],
  ['a pointer', { offset: 1n, value: null }, { kind: 'pointer' }],
  ['a letter that was corrected', { offset: 2n, value: null }, { kind: 'not the newest', newest: '0:3' }],
  ['a later letter of what was corrected', { offset: 4n, value: null }, { kind: 'not the newest', newest: '0:3' }],
])('refuses %s, and writes nothing', async (_, change, refusal) => {
  await writeLetters(cluster, [
    { offset: 1 },
    { offset: 2, form: 'pointer' },
    { offset: 3 },
    { offset: 3, edit: 1 },
    { offset: 3, round: 2 },
  ]);
  expect(await edit(change)).toEqual(refusal);
  expect(await all()).toHaveLength(5);
});

it('a dry run writes nothing', async () => {
  await writeLetters(cluster, [{ offset: 1 }, { offset: 2 }]);
  expect(await edit({ offset: 0n, value: null }, true)).toMatchObject({ kind: 'planned', copies: [{}, {}] });
  expect(await all()).toHaveLength(2);
});

it('is bounded: more letters of the key than one transaction should hold are refused', async () => {
  await writeLetters(
    cluster,
    Array.from({ length: EDIT_FOLLOWERS_MAX + 2 }, (_, offset) => ({ offset })),
  );
  expect(await edit({ offset: 0n, value: null })).toMatchObject({ kind: 'too many followers' });
});

it.each([
  ['looks', { kind: 'not the newest', newest: '0:1' }],
  ['writes', { kind: 'overtaken' }],
])(
  'P5: of two people who edit at once one correction stands: another came before the first %s',
  async (when, refusal) => {
    await writeLetters(cluster, [{ offset: 1 }]);
    const overtake = async (step: string): Promise<void> => {
      if (step === when) await edit({ offset: 0n, value: Buffer.from('second') });
    };
    const overtaken: Parameters<typeof editLetter>[0] = {
      catalog: cluster.catalog,
      openReader: () => cluster.openReader(),
      openTransactionalWriter: async (options) => {
        const writer = await cluster.openTransactionalWriter(options);
        await overtake('looks');
        return {
          usable: true,
          close: () => writer.close(),
          commit: async (records, behind) => {
            await overtake('writes');
            await writer.commit(records, behind);
          },
        };
      },
    };
    const letters = await letterTopic(cluster, 't');
    if (letters === undefined) throw new Error('no letters');
    const change = { partition: 0, offset: 0n, value: Buffer.from('first'), by: 'a', note: '' };
    expect(await editLetter(overtaken, letters, change, { namespace: 'ns', dryRun: false })).toEqual(refusal);
    expect((await all()).map(line)).toEqual(['0:1 edit 0 k v1', '0:1 edit 1 k second']);
  },
);

/** A cluster on which workers write these letters when an edit has looked at the archive, right before its copies. */
function writingMeanwhile(letters: Parameters<typeof writeLetters>[1]): Parameters<typeof editLetter>[0] {
  return {
    catalog: cluster.catalog,
    openReader: () => cluster.openReader(),
    openTransactionalWriter: async (options) => {
      const writer = await cluster.openTransactionalWriter(options);
      return {
        usable: true,
        close: () => writer.close(),
        commit: async (records, behind) => {
          await writeLetters(cluster, letters);
          await writer.commit(records, behind);
        },
      };
    },
  };
}

async function editMeanwhile(
  letters: Parameters<typeof writeLetters>[1],
  change: Partial<LetterEdit> & { readonly offset: bigint },
) {
  const archive = await letterTopic(cluster, 't');
  if (archive === undefined) throw new Error('no letters');
  const edited = { partition: 0, value: Buffer.from('new'), by: 'me@here', note: '', ...change };
  return await editLetter(writingMeanwhile(letters), archive, edited, { namespace: 'ns', dryRun: false });
}

it('keeps the order of the key, too, when letters of it are written while it is edited: those are copied behind, and nothing twice', async () => {
  await writeLetters(cluster, [{ offset: 1 }, { offset: 2 }]);
  const late = [
    { offset: 3 },
    { offset: 4, key: 'other' },
    { offset: 1, round: 2 },
    { offset: 2, round: 2 },
    { offset: 5, form: 'pointer' },
  ];
  const answer = await editMeanwhile(late, { offset: 0n });
  expect(answer).toMatchObject({ kind: 'planned', copies: [{}, {}, {}, {}] });
  expect((await all()).slice(7).map(line)).toEqual([
    '0:1 edit 1 k new',
    '0:2 edit 1 k v2',
    '0:3 edit 1 k v3',
    '0:2 edit 1 k v2',
  ]);
});

it('gives up, and writes nothing, when more is written meanwhile than one transaction should hold', async () => {
  await writeLetters(cluster, [{ offset: 1 }]);
  const late = Array.from({ length: EDIT_FOLLOWERS_MAX + 1 }, (_, at) => ({ offset: at + 2 }));
  expect(await editMeanwhile(late, { offset: 0n })).toMatchObject({ kind: 'too many followers' });
  expect(await all()).toHaveLength(late.length + 1);
});
