/** The bounded, read-committed reader: how answers become chunks is in the README. */
import { toOffset } from '@tidemark/keyspace';
import { AnswerWalk, nextOffsetAfter } from '../../answer-walk.ts';
import { ChunkBuilder } from '../../chunk-builder.ts';
import {
  ANSWERS_PER_READ_MAX,
  EMPTY_OBSERVATIONS,
  FETCH_BYTES_MAX,
  FETCH_BYTES_MIN,
  OUT_OF_RANGE_ANSWERS_MAX,
} from '../../limits.ts';
import { HoleKind, type LogReader, type ReadAnswer, type ReadRequest, type Source } from '../../ports.ts';
import { verdictOf } from '../../verdict.ts';
import { backOff } from './backoff.ts';
import { batchCodecs } from './batch-codecs.ts';
import { aborted, unavailable } from './errors.ts';
import type { Fetcher, FetchOrder, FetchOutcome } from './fetcher.ts';
import type { KafkaLogger } from './logger.ts';

/** An answer in hand: what is left of it begins at `position`. */
interface HeldAnswer {
  readonly source: Source;
  readonly walk: AnswerWalk;
  readonly lastStableOffset: bigint;
  readonly empty: boolean;
  position: bigint;
}

/** A fetch under way for where the answer in hand ends. Its failure is kept as a value until someone asks for it. */
interface FetchAhead {
  readonly source: Source;
  readonly fetchOffset: bigint;
  readonly outcome: Promise<FetchOutcome | { readonly kind: 'failed'; readonly error: unknown }>;
}

/** What one step of a read came to: an answer for the caller, or another step. */
type Step = ReadAnswer | undefined;

export class KafkaReader implements LogReader {
  readonly #fetcher: Fetcher;
  readonly #logger: KafkaLogger;
  #held: HeldAnswer | undefined;
  #ahead: FetchAhead | undefined;

  constructor(fetcher: Fetcher, logger: KafkaLogger) {
    this.#fetcher = fetcher;
    this.#logger = logger;
  }

  async read(request: ReadRequest): Promise<ReadAnswer> {
    const attempt = new ReadAttempt(request);
    for (let answers = 0; answers < ANSWERS_PER_READ_MAX && !attempt.chunk.reachedEnd; answers++) {
      if (request.signal?.aborted === true) throw aborted();
      const answer = await this.#step(attempt);
      if (answer !== undefined) return answer;
    }
    const { chunk } = attempt;
    if (!chunk.progressed && !chunk.reachedEnd) {
      throw unavailable(`${describe(request.source)}: the broker sends nothing usable at offset ${chunk.nextOffset}`);
    }
    return this.#deliver(attempt);
  }

  async close(): Promise<void> {
    this.#held = undefined;
    this.#ahead = undefined;
    await this.#fetcher.close();
  }

  async #step(attempt: ReadAttempt): Promise<Step> {
    const { chunk, request } = attempt;
    const before = chunk.nextOffset;
    const held = this.#heldAt(request.source, before) ?? (await this.#fetchNext(attempt));
    if ('kind' in held) return this.#explain(held, attempt);
    const stop = held.walk.walkInto(chunk);
    held.position = chunk.nextOffset;
    switch (stop.kind) {
      case 'full':
      case 'end':
        return this.#deliver(attempt);
      case 'unreadable':
        if (chunk.progressed) return this.#deliver(attempt);
        return { kind: 'unreadable', offset: toOffset(stop.offset), message: stop.message };
      case 'exhausted':
        this.#held = undefined;
        if (chunk.nextOffset === before) return this.#explainEmpty(held, attempt);
        return chunk.holdsMaxRecords || chunk.nextOffset >= held.lastStableOffset ? this.#deliver(attempt) : undefined;
    }
  }

  #heldAt(source: Source, position: bigint): HeldAnswer | undefined {
    const held = this.#held;
    return held !== undefined && held.position === position && isSame(held.source, source) ? held : undefined;
  }

  async #fetchNext(
    attempt: ReadAttempt,
  ): Promise<HeldAnswer | Exclude<FetchOutcome, { kind: 'answer' }> | { kind: 'cut short' }> {
    const { chunk, request } = attempt;
    this.#held = undefined;
    let outcome: FetchOutcome;
    try {
      outcome = await this.#fetchOrTakeAhead(attempt);
    } catch (error) {
      // What was read so far is good; the next read meets the error again, with nothing to lose.
      if (chunk.progressed && request.signal?.aborted !== true) return { kind: 'cut short' };
      throw error;
    }
    if (outcome.kind !== 'answer') return outcome;
    const { batches, aborted: abortedTransactions, lastStableOffset } = outcome.partition;
    const walk = new AnswerWalk({ buffer: batches, aborted: abortedTransactions, codecs: batchCodecs });
    this.#held = {
      source: request.source,
      walk,
      lastStableOffset,
      empty: batches.length === 0,
      position: chunk.nextOffset,
    };
    this.#fetchAhead(request, nextOffsetAfter(batches), lastStableOffset);
    return this.#held;
  }

  async #fetchOrTakeAhead({ chunk, request }: ReadAttempt): Promise<FetchOutcome> {
    const ahead = this.#ahead;
    this.#ahead = undefined;
    if (ahead !== undefined && ahead.fetchOffset === chunk.nextOffset && isSame(ahead.source, request.source)) {
      const outcome = await ahead.outcome;
      if (outcome.kind !== 'failed') return outcome;
    }
    // With something in the chunk already the caller should not wait for more; the data is there or it is not.
    return this.#fetcher.fetch(orderOf(request, chunk.nextOffset, chunk.progressed ? 0 : request.waitMs));
  }

  /** Only where the log is known to hold something for this range: such a fetch never waits at the broker. */
  #fetchAhead(request: ReadRequest, fetchOffset: bigint | undefined, lastStableOffset: bigint): void {
    if (fetchOffset === undefined || fetchOffset > request.end || fetchOffset >= lastStableOffset) return;
    const { signal: _signal, ...order } = orderOf(request, fetchOffset, 0);
    const outcome = this.#fetcher.fetch(order).catch((error: unknown) => ({ kind: 'failed', error }) as const);
    this.#ahead = { source: request.source, fetchOffset, outcome };
  }

  async #explain(
    outcome: Exclude<FetchOutcome, { kind: 'answer' }> | { kind: 'cut short' },
    attempt: ReadAttempt,
  ): Promise<Step> {
    if (attempt.chunk.progressed) return this.#deliver(attempt);
    switch (outcome.kind) {
      case 'topic missing':
      case 'topic recreated':
        return outcome;
      case 'refused':
        return { kind: 'unreadable', offset: toOffset(attempt.chunk.nextOffset), message: outcome.message };
      case 'out of range':
        return this.#explainOutOfRange(attempt);
      case 'cut short':
        return undefined;
    }
  }

  async #explainOutOfRange(attempt: ReadAttempt): Promise<Step> {
    const verdict = await this.#judge(attempt);
    if (verdict !== undefined) return verdict;
    attempt.outOfRangeAnswers += 1;
    if (attempt.outOfRangeAnswers >= OUT_OF_RANGE_ANSWERS_MAX) {
      const { request, chunk } = attempt;
      throw unavailable(
        `${describe(request.source)}: offset ${chunk.nextOffset} is out of range for its leader, but not for its log`,
      );
    }
    await backOff(attempt.outOfRangeAnswers, attempt.request.signal);
    return undefined;
  }

  /** An answer that brought nothing at the position. */
  async #explainEmpty(held: HeldAnswer, attempt: ReadAttempt): Promise<Step> {
    const { chunk } = attempt;
    if (chunk.progressed) return this.#deliver(attempt);
    const verdict = await this.#judge(attempt);
    if (verdict !== undefined || !held.empty || held.lastStableOffset <= chunk.nextOffset) return verdict;
    // Nothing lives between the position and the last stable offset of this very answer. Compaction can do that to the
    // tail of a log; a broker in trouble could, too, so it has to say so several times in a row.
    attempt.emptyAnswers += 1;
    if (attempt.emptyAnswers < EMPTY_OBSERVATIONS) {
      await backOff(attempt.emptyAnswers, attempt.request.signal);
      return undefined;
    }
    chunk.skipThrough(held.lastStableOffset - 1n, HoleKind.compacted);
    return this.#deliver(attempt);
  }

  /** Asks the partition's offsets; undefined when they say that there is something to read. */
  async #judge(attempt: ReadAttempt): Promise<Step> {
    const { chunk, request } = attempt;
    const found = await this.#fetcher.offsets(request.source, request.signal);
    if (found.kind !== 'offsets') return found;
    const verdict = verdictOf({ nextOffset: toOffset(chunk.nextOffset), end: request.end }, found.offsets);
    return verdict.kind === 'readable' ? undefined : verdict;
  }

  #deliver({ chunk: builder, request }: ReadAttempt): ReadAnswer {
    const chunk = builder.build();
    const first = chunk.records[0];
    if (first !== undefined && chunk.bytes > request.bytesMax) {
      const { topic, partition } = request.source;
      this.#logger.warn(
        { topic, partition, offset: first.offset, bytes: chunk.bytes, bytesMax: request.bytesMax },
        'log.record.oversized',
      );
    }
    return { kind: 'chunk', chunk };
  }
}

class ReadAttempt {
  readonly request: ReadRequest;
  readonly chunk: ChunkBuilder;
  emptyAnswers = 0;
  outOfRangeAnswers = 0;

  constructor(request: ReadRequest) {
    this.request = request;
    this.chunk = new ChunkBuilder(request);
  }
}

function orderOf(request: ReadRequest, fetchOffset: bigint, waitMs: number): FetchOrder {
  const bytesMax = Math.min(Math.max(request.bytesMax, FETCH_BYTES_MIN), FETCH_BYTES_MAX);
  const order = { source: request.source, fetchOffset, bytesMax, waitMs };
  return request.signal === undefined ? order : { ...order, signal: request.signal };
}

function isSame(a: Source, b: Source): boolean {
  return a.topicId === b.topicId && a.partition === b.partition;
}

function describe(source: Source): string {
  return `${source.topic}/${source.partition}`;
}
