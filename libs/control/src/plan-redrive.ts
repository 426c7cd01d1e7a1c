/** What a redrive would hand over, by the rule that the worker follows, and whether it should: nothing is changed here. */
import { isTooOften, LetterFate, LetterParameter, letterFates, newestText, placeText } from '@tidemark/jobs';
import { assertNever, isEmpty } from '@tidemark/keyspace';
import type { LogCluster } from '@tidemark/log';
import { type DeadLetter, lettersIn, letterTopic, letterWindows } from './dead-letters.ts';
import { NEWEST_CHARACTERS_MAX } from './limits.ts';

/** What becomes of letters whose topic was deleted or created again since: their offsets name nothing, or other records. */
export const FormerTopic = { refuse: 'refuse', take: 'take', leave: 'leave' } as const;
export type FormerTopic = (typeof FormerTopic)[keyof typeof FormerTopic];

export interface RedriveQuestion {
  /** Whose records the letters are of. */
  readonly topic: string;
  /** Of the job; which letters it is about among them. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly former: FormerTopic;
}

export interface RedriveCount {
  readonly letters: number;
  readonly byClass: Readonly<Record<string, number>>;
  readonly byRound: Readonly<Record<string, number>>;
  /** Corrected copies among the letters. */
  readonly edited: number;
  /** Left where they are: what holds no record, was dead-lettered too often, or has another letter that counts. */
  readonly pointers: number;
  readonly tooOften: number;
  readonly replaced: number;
  /** Of a topic that was deleted or created again since; among the letters where those are taken. */
  readonly former: number;
}

export type RedrivePlan =
  | {
      readonly kind: 'planned';
      /** Those that were asked for, and which letter of a record counts. */
      readonly parameters: Readonly<Record<string, string>>;
      /** Where the window ends: what comes later was not looked at. */
      readonly to: string;
      readonly count: RedriveCount;
    }
  | { readonly kind: 'topic missing' | 'topic recreated'; readonly letters: number }
  | { readonly kind: 'too many repeats'; readonly records: number }
  | { readonly kind: 'cut short'; readonly partition: number; readonly reason: string };

type Cluster = Pick<LogCluster, 'catalog' | 'openReader'>;

/** A record is handed over once, however many letters it has: the most corrected one, and of those the last that was asked for. */
export async function planRedrive(
  cluster: Cluster,
  question: RedriveQuestion,
  signal?: AbortSignal,
): Promise<RedrivePlan> {
  const letters = await letterTopic(cluster, question.topic);
  const source = await cluster.catalog.describe(question.topic);
  if (letters === undefined) return { kind: 'planned', parameters: question.parameters, to: 'now', count: NOTHING };
  const asked = {
    ...question.parameters,
    ...(question.former === FormerTopic.leave && source !== undefined
      ? { [LetterParameter.topicId]: source.topicId }
      : {}),
  };
  const windows = (await letterWindows(cluster, letters)).filter((window) => !isEmpty(window));
  const newest = new Newest(asked, source?.topicId);
  for await (const item of lettersIn(cluster, letters, windows, signal)) {
    if (item.kind === 'cut short') return item;
    newest.add(item.letter);
  }
  const text = newestText(newest.repeated());
  if (text.length > NEWEST_CHARACTERS_MAX) return { kind: 'too many repeats', records: newest.repeated().size };
  const parameters = { ...asked, [LetterParameter.newest]: text };
  const counter = new Counter(parameters, source?.topicId);
  for await (const item of lettersIn(cluster, letters, windows, signal)) {
    if (item.kind === 'cut short') return item;
    counter.add(item.letter);
  }
  const count = counter.count();
  if (question.former !== FormerTopic.take && source === undefined && count.letters > 0)
    return { kind: 'topic missing', letters: count.letters };
  if (question.former === FormerTopic.refuse && count.former > 0)
    return { kind: 'topic recreated', letters: count.former };
  const to = windows.map(({ partition, end }) => placeText({ partition, offset: end })).join(',');
  return { kind: 'planned', parameters, to: to === '' ? 'now' : to, count };
}

const NOTHING: RedriveCount = {
  letters: 0,
  byClass: {},
  byRound: {},
  edited: 0,
  pointers: 0,
  tooOften: 0,
  replaced: 0,
  former: 0,
};

interface Counting {
  readonly place: string;
  edit: number;
  /** Of the letter that counts. */
  offset: bigint | undefined;
  /** It was dead-lettered too often, by whatever job and for whatever fault. */
  isOver: boolean;
  taken: number;
}

/** Which letter of a record counts. Holds a few numbers for each record that has one. */
class Newest {
  readonly #fateOf: ReturnType<typeof letterFates>;
  readonly #isTooOften: ReturnType<typeof isTooOften>;
  readonly #topicId: string | undefined;
  readonly #byRecord = new Map<string, Counting>();

  /** `topicId` is that of the topic as it is now; a letter without one is taken for one of it. */
  constructor(parameters: RedriveQuestion['parameters'], topicId: string | undefined) {
    this.#fateOf = letterFates(parameters);
    this.#isTooOften = isTooOften(parameters);
    this.#topicId = topicId;
  }

  /** In the order of the log. */
  add(letter: DeadLetter): void {
    const { edit, record, topicId = this.#topicId } = letter;
    const place = placeText(letter.origin);
    const id = `${topicId}/${place}`;
    const known = this.#byRecord.get(id) ?? { place, edit: 0, offset: undefined, isOver: false, taken: 0 };
    this.#byRecord.set(id, known);
    if (edit > known.edit) {
      known.edit = edit;
      known.offset = undefined;
      known.isOver = false;
    }
    // The record is what was dead-lettered too often, so its other letters stay as well, whatever is asked for.
    if (edit === known.edit && letter.form !== 'pointer' && this.#isTooOften(letter)) {
      known.isOver = true;
      known.offset = undefined;
    }
    if (this.#fateOf(letter, record.offset) !== LetterFate.taken) return;
    known.taken += 1;
    if (edit === known.edit && !known.isOver) known.offset = record.offset;
  }

  /** Of places at which not just one letter of a record would be taken anyway. */
  repeated(): ReadonlyMap<string, readonly bigint[]> {
    const records = [...this.#byRecord.values()];
    const counting = new Map<string, bigint[]>();
    for (const { place, taken, offset } of records) if (taken > (offset === undefined ? 0 : 1)) counting.set(place, []);
    for (const { place, offset } of records) if (offset !== undefined) counting.get(place)?.push(offset);
    return counting;
  }
}

class Counter {
  readonly #fateOf: ReturnType<typeof letterFates>;
  readonly #topicId: string | undefined;
  readonly #count = { ...NOTHING, byClass: {} as Record<string, number>, byRound: {} as Record<string, number> };

  /** `topicId` is that of the topic as it is now; undefined when there is none. */
  constructor(parameters: RedriveQuestion['parameters'], topicId: string | undefined) {
    this.#fateOf = letterFates(parameters);
    this.#topicId = topicId;
  }

  count(): RedriveCount {
    return this.#count;
  }

  add(letter: DeadLetter): void {
    const count = this.#count;
    const fate = this.#fateOf(letter, letter.record.offset);
    switch (fate) {
      case LetterFate.taken:
        this.#take(letter);
        return;
      case LetterFate.pointer:
        count.pointers += 1;
        return;
      case LetterFate.tooOften:
        count.tooOften += 1;
        return;
      case LetterFate.replaced:
        count.replaced += 1;
        return;
      case LetterFate.formerTopic:
        count.former += 1;
        return;
      case LetterFate.notAsked:
        return;
      default:
        assertNever(fate);
    }
  }

  #take({ faultClass, round, edit, topicId }: DeadLetter): void {
    const count = this.#count;
    count.letters += 1;
    if (edit > 0) count.edited += 1;
    if (topicId !== undefined && topicId !== this.#topicId) count.former += 1;
    count.byClass[faultClass] = (count.byClass[faultClass] ?? 0) + 1;
    count.byRound[round] = (count.byRound[round] ?? 0) + 1;
  }
}
