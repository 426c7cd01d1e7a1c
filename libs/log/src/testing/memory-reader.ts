/** The reader of the in-memory log: the same chunks and verdicts as the real one, from the same pure parts. */
import { ErrorClass, TidemarkError, toOffset } from '@tidemark/keyspace';
import { ChunkBuilder } from '../chunk-builder.ts';
import type { LogReader, ReadAnswer, ReadRequest } from '../ports.ts';
import { verdictOf } from '../verdict.ts';
import type { MemoryLog } from './memory-log.ts';

export class MemoryReader implements LogReader {
  readonly #log: MemoryLog;

  constructor(log: MemoryLog) {
    this.#log = log;
  }

  async read(request: ReadRequest): Promise<ReadAnswer> {
    const deadlineMs = performance.now() + request.waitMs;
    for (;;) {
      throwIfAborted(request.signal);
      this.#log.faults.check('read');
      const answer = this.#readNow(request);
      const leftMs = deadlineMs - performance.now();
      const waits = answer.kind === 'end of log' || answer.kind === 'open transaction';
      if (!waits || leftMs <= 0) return answer;
      await this.#log.changed(leftMs, request.signal);
    }
  }

  async close(): Promise<void> {}

  #readNow(request: ReadRequest): ReadAnswer {
    const { source, end } = request;
    const topic = this.#log.topic(source.topic);
    if (topic === undefined) return { kind: 'topic missing' };
    if (topic.topicId !== source.topicId) return { kind: 'topic recreated', topicId: topic.topicId };
    const partition = topic.partitions[source.partition];
    if (partition === undefined)
      throw new TidemarkError({
        code: 'KAFKA_UNAVAILABLE',
        class: ErrorClass.unavailable,
        message: 'no such partition',
      });
    const chunk = new ChunkBuilder(request);
    if (chunk.reachedEnd) return { kind: 'chunk', chunk: chunk.build() };
    const verdict = verdictOf({ nextOffset: toOffset(chunk.nextOffset), end }, partition.offsets(source.partition));
    if (verdict.kind !== 'readable') return verdict;
    const damage = partition.readInto(chunk);
    if (damage !== undefined && !chunk.progressed)
      return { kind: 'unreadable', offset: toOffset(chunk.nextOffset), message: damage };
    return { kind: 'chunk', chunk: chunk.build() };
  }
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new TidemarkError({
    code: 'ABORTED',
    class: ErrorClass.unavailable,
    message: 'the caller gave the request up',
  });
}
