/**
 * Correcting a dead letter: a copy with another key or value is appended behind it, which points to it and stands in its
 * place from then on. The letter itself stays.
 *
 * Order of a key: the copy comes behind letters of later records of its key, and a redrive hands over in the order of the log.
 * So those are copied behind it as they are. All copies of one edit are one transaction.
 *
 * Race: two people edit at once. The transactional id belongs to the archive, and its session is opened before the letters
 * are read: whoever opens second fences the first, whose commit then fails, and waits for what it had committed before.
 */
import { deadLetterFacts, editedHeaders, placeText } from '@tidemark/jobs';
import { cursorBefore, ErrorClass, isTopicName, TidemarkError } from '@tidemark/keyspace';
import type { LogCluster, OutgoingRecord, TopicDescription } from '@tidemark/log';
import { type DeadLetter, deadLetterAt } from './dead-letters.ts';
import { EDIT_FOLLOWERS_BYTES_MAX, EDIT_FOLLOWERS_MAX } from './limits.ts';
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
  if (options.dryRun) return await planEdit(cluster, letters, edit, options.signal);
  const transactionalId = `${options.namespace}.edit.${letters.topic}`;
  const writer = await cluster.openTransactionalWriter({ transactionalId });
  try {
    const plan = await planEdit(cluster, letters, edit, options.signal);
    if (plan.kind === 'planned') await writer.commit(plan.copies);
    return plan;
  } catch (error) {
    if (error instanceof TidemarkError && error.class === ErrorClass.fenced) return { kind: 'overtaken' };
    throw error;
  } finally {
    await writer.close();
  }
}

/** Reads the partition of the letter, and writes nothing. */
async function planEdit(
  cluster: Cluster,
  letters: TopicDescription,
  edit: LetterEdit,
  signal: AbortSignal | undefined,
): Promise<EditPlan> {
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
  for await (const item of readWindow(cluster, letters, [window], signal === undefined ? {} : { signal })) {
    if (item.kind === 'cut short') return { kind: 'cut short', reason: item.reason };
    const facts = deadLetterFacts(item.record.headers);
    if (facts === undefined || facts.form === 'pointer') continue;
    newest.add({ ...facts, partition, record: item.record });
    if (newest.isTooMany) return { kind: 'too many followers', records: newest.followers, bytes: newest.bytes };
  }
  const counts = newest.of(letter);
  if (counts !== offset) return { kind: 'not the newest', newest: placeText({ partition, offset: counts }) };
  const copies = [
    copyOf(letters, letter, { ...edit, key, value }),
    ...newest.behind().map((follower) => copyOf(letters, follower, { ...edit, ...follower.record })),
  ];
  return { kind: 'planned', letter, copies };
}

function changeOf({ key, value }: LetterEdit): { readonly key?: Buffer | null; readonly value?: Buffer | null } {
  return { ...(key === undefined ? {} : { key }), ...(value === undefined ? {} : { value }) };
}

interface NewestLetter {
  readonly edit: number;
  readonly offset: bigint;
  /** Of one that has to be copied behind. */
  readonly follower?: DeadLetter;
}

/** Of each record the letter that counts: the most corrected, and of those the last. Only followers are kept whole. */
class NewestLetters {
  readonly #edited: DeadLetter;
  readonly #withKey: boolean;
  readonly #topicId: string | undefined;
  /** In the order of the log, by where the one that counts lies. */
  readonly #byRecord = new Map<string, NewestLetter>();
  followers = 0;
  bytes = 0;

  /**
   * `withKey`: also of records of its key. Under another key nothing has to wait for the copy. `topicId` is that of the topic as
   * it is now; a letter without one is taken for one of it, as by a redrive.
   */
  constructor(edited: DeadLetter, of: { readonly withKey: boolean; readonly topicId: string | undefined }) {
    this.#edited = edited;
    this.#withKey = of.withKey;
    this.#topicId = of.topicId;
  }

  get isTooMany(): boolean {
    return this.followers > EDIT_FOLLOWERS_MAX || this.bytes > EDIT_FOLLOWERS_BYTES_MAX;
  }

  add(letter: DeadLetter): void {
    const id = this.#idOf(letter);
    const known = this.#byRecord.get(id);
    const { edit, record } = letter;
    const isOfKey = this.#withKey && isOfOneKey(this.#edited, letter);
    // A record of the key that was corrected to have another one is none of it any more.
    if (known === undefined && !isOfKey && id !== this.#idOf(this.#edited)) return;
    if (known !== undefined && known.edit > edit) return;
    this.#count(known?.follower, -1);
    this.#byRecord.delete(id);
    const follower = isOfKey && record.offset > this.#edited.record.offset ? letter : undefined;
    this.#count(follower, 1);
    this.#byRecord.set(id, { edit, offset: record.offset, ...(follower && { follower }) });
  }

  /** A topic that was created again has other records at the same places. */
  #idOf({ topicId = this.#topicId, origin }: DeadLetter): string {
    return `${topicId}/${placeText(origin)}`;
  }

  #count(follower: DeadLetter | undefined, sign: 1 | -1): void {
    if (follower === undefined) return;
    this.followers += sign;
    this.bytes += sign * sizeOf(follower);
  }

  /** Where the letter lies that counts for the record of this one. */
  of(letter: DeadLetter): bigint {
    return this.#byRecord.get(this.#idOf(letter))?.offset ?? letter.record.offset;
  }

  behind(): readonly DeadLetter[] {
    return [...this.#byRecord.values()].flatMap(({ follower }) => (follower === undefined ? [] : [follower]));
  }
}

function sizeOf({ record: { key, value } }: DeadLetter): number {
  return (key?.length ?? 0) + (value?.length ?? 0);
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

/** Records without a key have no order among them. */
function isOfOneKey(a: DeadLetter, b: DeadLetter): boolean {
  return a.record.key !== null && isSame(a.record.key, b.record.key);
}

function isSame(a: Buffer | null, b: Buffer | null): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}
