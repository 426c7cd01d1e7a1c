/**
 * Correcting a dead letter: a copy with another key or value is appended behind it, which points to it and stands in its
 * place from then on. The letter itself stays.
 *
 * Order of a key: the copy comes behind letters of later records of its key, and a redrive hands over in the order of the log.
 * So those are copied behind it as they are. All copies of one edit are one transaction.
 *
 * Race: a worker writes a letter of the key between the look at the letters and the copies; it would lie before them. So there is
 * a second look when the copies have their places and nobody sees them yet: whatever lies before them is there by then, and
 * what is new of it is copied behind them, in the same transaction.
 *
 * Race: two people edit at once. The transactional id belongs to the archive, and its session is opened before the letters
 * are read: whoever opens second fences the first, whose commit then fails, and waits for what it had committed before.
 */
import { deadLetterFacts, editedHeaders, placeText } from '@tidemark/jobs';
import {
  cursorBefore,
  ErrorClass,
  isTopicName,
  type Offset,
  type PartitionWindow,
  TidemarkError,
} from '@tidemark/keyspace';
import type { LogCluster, OutgoingRecord, TopicDescription } from '@tidemark/log';
import { type DeadLetter, deadLetterAt } from './dead-letters.ts';
import { isSame, NewestLetters } from './newest-letters.ts';
import { readWindow } from './read-window.ts';

export interface LetterEdit {
  readonly partition: number;
  readonly offset: bigint;
  /** Left out: as it is. */
  readonly key?: Buffer | null;
  readonly value?: Buffer | null;
  readonly by: string;
  readonly note: string;
}

export interface PlannedEdit {
  readonly kind: 'planned';
  readonly letter: DeadLetter;
  /** The corrected copy, then those of later records of its key. */
  readonly copies: readonly OutgoingRecord[];
}

/** With what a second look needs: which letters count so far, and up to where they were looked at. */
interface SeenEdit extends PlannedEdit {
  readonly newest: NewestLetters;
  readonly seenUpTo: Offset;
}

type Refusal = Exclude<EditPlan, PlannedEdit>;

export type EditPlan =
  | PlannedEdit
  | { readonly kind: 'not found' }
  /** It holds no record that could be corrected. */
  | { readonly kind: 'pointer' }
  | { readonly kind: 'nothing changes' }
  /** Another letter of the same record counts in its place: `PARTITION:OFFSET`. */
  | { readonly kind: 'not the newest'; readonly newest: string }
  | { readonly kind: 'too many followers'; readonly records: number; readonly bytes: number }
  | { readonly kind: 'cut short'; readonly reason: string }
  /** Somebody else began an edit of the same archive meanwhile; nothing was written. */
  | { readonly kind: 'overtaken' };

type Cluster = Pick<LogCluster, 'catalog' | 'openReader' | 'openTransactionalWriter'>;

/** Writes what the plan says, unless it is a dry run. Throws what the writer throws, as `data` for a copy that is too large. */
export async function editLetter(
  cluster: Cluster,
  letters: TopicDescription,
  edit: LetterEdit,
  options: { readonly namespace: string; readonly dryRun: boolean; readonly signal?: AbortSignal },
): Promise<EditPlan> {
  if (options.dryRun) return shown(await planEdit(cluster, letters, edit, options.signal));
  const transactionalId = `${options.namespace}.edit.${letters.topic}`;
  const writer = await cluster.openTransactionalWriter({ transactionalId });
  try {
    const plan = await planEdit(cluster, letters, edit, options.signal);
    if (plan.kind !== 'planned') return plan;
    const late: OutgoingRecord[] = [];
    await writer.commit(plan.copies, async ([first]) => {
      late.push(...(await lateFollowers(cluster, letters, { edit, plan, before: first?.offset ?? plan.seenUpTo })));
      return late;
    });
    return shown(plan, late);
  } catch (error) {
    if (error instanceof GivenUp) return error.answer;
    if (error instanceof TidemarkError && error.class === ErrorClass.fenced) return { kind: 'overtaken' };
    throw error;
  } finally {
    await writer.close();
  }
}

function shown(plan: SeenEdit | Refusal, late: readonly OutgoingRecord[] = []): EditPlan {
  if (plan.kind !== 'planned') return plan;
  const { kind, letter, copies } = plan;
  return { kind, letter, copies: [...copies, ...late] };
}

/** Reads the partition of the letter, and writes nothing. */
async function planEdit(
  cluster: Cluster,
  letters: TopicDescription,
  edit: LetterEdit,
  signal: AbortSignal | undefined,
): Promise<SeenEdit | Refusal> {
  const { partition, offset } = edit;
  const bounds = (await cluster.catalog.offsets(letters))[partition];
  // What retention took, or was never there, is not found; asked of the log it would be a loss.
  if (bounds === undefined || offset < bounds.logStartOffset || offset >= bounds.highWatermark)
    return { kind: 'not found' };
  const letter = await deadLetterAt(cluster, letters, edit);
  if (letter?.record.offset !== offset) return { kind: 'not found' };
  if (letter.form === 'pointer') return { kind: 'pointer' };
  const { key, value } = { ...letter.record, ...changeOf(edit) };
  const keepsKey = isSame(key, letter.record.key);
  if (keepsKey && isSame(value, letter.record.value)) return { kind: 'nothing changes' };

  const { topic } = letter.origin;
  const topicId = isTopicName(topic) ? (await cluster.catalog.describe(topic))?.topicId : undefined;
  const newest = new NewestLetters(letter, { withKey: keepsKey, topicId });
  const window = { partition, start: cursorBefore(bounds.logStartOffset), end: cursorBefore(bounds.highWatermark) };
  const refusal = await lookInto(newest, cluster, letters, { window, signal });
  if (refusal !== undefined) return refusal;
  const counts = newest.of(letter);
  if (counts !== offset) return { kind: 'not the newest', newest: placeText({ partition, offset: counts }) };
  const copies = [
    copyOf(letters, letter, { ...edit, key, value }),
    ...newest.behind().map((follower) => copyOf(letters, follower, { ...edit, ...follower.record })),
  ];
  return { kind: 'planned', letter, copies, newest, seenUpTo: window.end };
}

/** Says why it could not look at all of it, or found too much. */
async function lookInto(
  newest: NewestLetters,
  cluster: Cluster,
  letters: TopicDescription,
  { window, signal }: { readonly window: PartitionWindow; readonly signal?: AbortSignal | undefined },
): Promise<Refusal | undefined> {
  const { partition } = window;
  for await (const item of readWindow(cluster, letters, [window], signal === undefined ? {} : { signal })) {
    if (item.kind === 'cut short') return { kind: 'cut short', reason: item.reason };
    const facts = deadLetterFacts(item.record.headers);
    if (facts === undefined || facts.form === 'pointer') continue;
    newest.add({ ...facts, partition, record: item.record });
    if (newest.isTooMany) return { kind: 'too many followers', records: newest.followers, bytes: newest.bytes };
  }
  return undefined;
}

/** Of letters that were written after the look and lie before the copies. Throws GivenUp. */
async function lateFollowers(
  cluster: Cluster,
  letters: TopicDescription,
  { edit, plan, before }: { readonly edit: LetterEdit; readonly plan: SeenEdit; readonly before: Offset },
): Promise<readonly OutgoingRecord[]> {
  const { newest, seenUpTo } = plan;
  const window = { partition: edit.partition, start: seenUpTo, end: cursorBefore(before) };
  const refusal = await lookInto(newest, cluster, letters, { window });
  if (refusal !== undefined) throw new GivenUp(refusal);
  return newest
    .behind()
    .filter(({ record }) => record.offset > seenUpTo)
    .map((follower) => copyOf(letters, follower, { ...edit, ...follower.record }));
}

/** Found out when the copies were on their way: nothing of them is to be seen. */
class GivenUp extends TidemarkError {
  readonly answer: Refusal;

  constructor(answer: Refusal) {
    super({ code: 'EDIT_GIVEN_UP', class: ErrorClass.transient, message: `the edit was given up: ${answer.kind}` });
    this.answer = answer;
  }
}

function changeOf({ key, value }: LetterEdit): { readonly key?: Buffer | null; readonly value?: Buffer | null } {
  return { ...(key === undefined ? {} : { key }), ...(value === undefined ? {} : { value }) };
}

function copyOf(
  letters: TopicDescription,
  letter: DeadLetter,
  change: Pick<LetterEdit, 'by' | 'note'> & { readonly key: Buffer | null; readonly value: Buffer | null },
): OutgoingRecord {
  const { partition, record, edit } = letter;
  const { key, value, by, note } = change;
  const of = { partition, offset: record.offset };
  const headers = editedHeaders(record.headers, { number: edit + 1, of, by, note });
  return { topic: letters.topic, partition, key, value, headers };
}
