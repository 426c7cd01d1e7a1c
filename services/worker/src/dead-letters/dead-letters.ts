/** Puts dead letters into `<topic>.dlq` and answers when the broker has acknowledged them. */

import { deadLetterTopic } from '@tidemark/jobs';
import { describeError, ErrorClass, TidemarkError } from '@tidemark/keyspace';
import type { LogCluster, LogWriter } from '@tidemark/log';
import { DEAD_LETTER_MESSAGE_MAX_BYTES } from '../limits.ts';
import {
  type DeadLetter,
  type DeadLetterPlace,
  deadLetterPointer,
  deadLetterRecord,
  earlierRound,
} from './dead-letter-record.ts';

export interface DeadLettersOptions {
  readonly cluster: LogCluster;
  readonly replicationFactor: number;
  /** Of topics that are created here, apart from what the source keeps; -1 = for ever. One that exists keeps its own. */
  readonly retentionMs: number;
}

/**
 * One writer for all slots, opened at the first need and kept: after a failure it connects anew by itself. A writer that was
 * closed would do so, too, for a slot that still queues on it, and nobody would close it again; so it is closed once, when
 * no send is under way and none can begin. `<topic>.dlq` belongs to us, so we create it where it is missing:
 * as many partitions as the source has now, so that a dead letter keeps its partition, also without a key.
 */
export class DeadLetters {
  readonly #options: DeadLettersOptions;
  readonly #partitionCounts = new Map<string, Promise<number>>();
  readonly #underWay = new Set<Promise<void>>();
  #writer: Promise<LogWriter> | undefined;
  #closed = false;

  constructor(options: DeadLettersOptions) {
    this.#options = options;
  }

  /** Letters of one source topic. Throws TidemarkError `unavailable` (DEAD_LETTERS_REFUSED) when they are not safe. */
  async send(letters: readonly DeadLetter[]): Promise<void> {
    const source = letters[0]?.topic;
    if (source === undefined) return;
    if (this.#closed) throw refused(source, 'the worker stops');
    const sending = this.#send(source, letters);
    this.#underWay.add(sending);
    try {
      await sending;
    } finally {
      this.#underWay.delete(sending);
    }
  }

  /** After the sends that are under way; later ones are refused. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#underWay);
    const writer = this.#writer;
    this.#writer = undefined;
    // One that never opened or does not close has nothing that must be saved: all letters were awaited.
    await writer?.then((open) => open.close()).catch(() => undefined);
  }

  async #send(source: string, letters: readonly DeadLetter[]): Promise<void> {
    try {
      const placed: PlacedLetter[] = [];
      for (const letter of letters) placed.push({ letter, place: await this.#placeOf(letter) });
      await append(await this.#openWriter(), placed);
    } catch (error) {
      // The topic may have been deleted; the next try looks again.
      this.#partitionCounts.delete(source);
      throw refused(source, error);
    }
  }

  /** One of a record that was dead-lettered before goes beside the earlier one: letters of letters would be found nowhere. */
  async #placeOf(letter: DeadLetter): Promise<DeadLetterPlace> {
    const { topic: source, partition } = letter;
    if (earlierRound(letter) !== undefined) return { topic: source, partition };
    const topic = deadLetterTopic(source);
    return { topic, partition: partition % (await this.#partitionCount(source, topic)) };
  }

  #partitionCount(source: string, topic: string): Promise<number> {
    const known = this.#partitionCounts.get(source);
    if (known !== undefined) return known;
    const asked = this.#ensureTopic(source, topic);
    this.#partitionCounts.set(source, asked);
    return asked;
  }

  async #ensureTopic(source: string, topic: string): Promise<number> {
    const { catalog } = this.#options.cluster;
    const existing = await catalog.describe(topic);
    if (existing !== undefined) return existing.partitionCount;
    const partitionCount = (await catalog.describe(source))?.partitionCount ?? 1;
    const created = await catalog.ensure({
      topic,
      partitionCount,
      replicationFactor: this.#options.replicationFactor,
      configs: {
        'cleanup.policy': 'delete',
        'retention.ms': String(this.#options.retentionMs),
        'retention.bytes': '-1',
        'max.message.bytes': String(DEAD_LETTER_MESSAGE_MAX_BYTES),
      },
    });
    return created.partitionCount;
  }

  async #openWriter(): Promise<LogWriter> {
    const opening = this.#writer ?? this.#options.cluster.openWriter();
    this.#writer = opening;
    try {
      return await opening;
    } catch (error) {
      // The next one opens anew; unless another slot, which waited for the same failure, does so already.
      if (this.#writer === opening) this.#writer = undefined;
      throw error;
    }
  }
}

interface PlacedLetter {
  readonly letter: DeadLetter;
  readonly place: DeadLetterPlace;
}

async function append(writer: LogWriter, placed: readonly PlacedLetter[]): Promise<void> {
  try {
    await writer.append(placed.map(({ letter, place }) => deadLetterRecord(letter, place)));
  } catch (error) {
    if (!isRefusedRecord(error)) throw error;
    // One of them is too large for the topic: each for itself, so that only that one becomes a pointer.
    for (const { letter, place } of placed) await appendOne(writer, letter, place);
  }
}

async function appendOne(writer: LogWriter, letter: DeadLetter, place: DeadLetterPlace): Promise<void> {
  try {
    await writer.append([deadLetterRecord(letter, place)]);
  } catch (error) {
    if (!isRefusedRecord(error)) throw error;
    await writer.append([deadLetterPointer(letter, place)]);
  }
}

function isRefusedRecord(error: unknown): boolean {
  return error instanceof TidemarkError && error.class === ErrorClass.data;
}

function refused(source: string, cause: unknown): TidemarkError {
  return new TidemarkError({
    code: 'DEAD_LETTERS_REFUSED',
    class: ErrorClass.unavailable,
    message: `dead letters of ${source} were not accepted: ${describeError(cause)}`,
    context: { dependency: `dead letters of ${source}` },
    cause,
  });
}
