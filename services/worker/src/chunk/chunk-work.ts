/**
 * Everything that happens to one claimed chunk: time filter, handling, and moving the cursor over the settled prefix, also
 * while slow records are still running.
 */
import { belongingTo } from '@tidemark/jobs';
import type { Chunk } from '@tidemark/log';
import { PARTIAL_ADVANCE_MS } from '../limits.ts';
import type { ParkedSet } from '../parked/parked-set.ts';
import type { Handling, RunEnding } from '../run/handling.ts';
import { prepareRun } from '../run/prepare-run.ts';
import { Run } from '../run/run.ts';
import { Settlement } from '../run/settlement.ts';
import { countMove } from '../worker-metrics.ts';
import { ChunkParking } from './chunk-parking.ts';
import { SettledPrefix } from './settled-prefix.ts';

export class ChunkWork {
  readonly #handling: Handling;
  readonly #chunk: Chunk;
  readonly #prefix: SettledPrefix;
  readonly #parking: ChunkParking;
  #run: Run | undefined;
  #commits: Promise<void> = Promise.resolve();

  constructor(handling: Handling, { chunk, parked }: { readonly chunk: Chunk; readonly parked: ParkedSet }) {
    const { job, random, clock } = handling;
    const { records } = chunk;
    this.#handling = handling;
    this.#chunk = chunk;
    this.#prefix = new SettledPrefix(chunk);
    const nowMs = (): number => clock.now().monotonicMs;
    this.#parking = new ChunkParking({ job, parked, records, prefix: this.#prefix, nowMs, random });
    const belongs = belongingTo(job);
    if (belongs === undefined) return;
    for (const [index, record] of records.entries())
      if (!belongs(record)) this.#prefix.settle(index, Settlement.filtered);
  }

  /** False while nothing of it was handed to the handler. */
  get wasCalled(): boolean {
    return (this.#run?.startedCount ?? 0) > 0;
  }

  /** True when nothing above the last move was handed to the handler. */
  get untouched(): boolean {
    return (this.#run?.startedCount ?? 0) <= this.#prefix.takenCount;
  }

  /**
   * May be called again after an ending that left the range with us: it goes on with what is still open. `onPartMoved` hears
   * that the cursor moved while slow records were still running.
   */
  async run(onPartMoved: () => void): Promise<RunEnding> {
    const { records } = this.#chunk;
    const subject = { records, settlements: this.#prefix, policy: this.#parking };
    const prepared = this.#run ?? (await prepareRun(this.#handling, subject));
    if (!(prepared instanceof Run)) return prepared;
    this.#run = prepared;
    return await this.#runWithPartialAdvances(prepared, onPartMoved);
  }

  /** Moves the cursor over what joined the settled prefix since the last move. One at a time: after it, all are over. */
  commit(): Promise<void> {
    const commit = this.#commits.then(() => this.#advance());
    this.#commits = commit.catch(() => undefined);
    return commit;
  }

  async #advance(): Promise<void> {
    const move = this.#prefix.take();
    if (move === undefined) return;
    const { held, logger, metrics } = this.#handling;
    const answer = await held.advance(move);
    if (answer.kind === 'advanced') {
      this.#parking.moved(move);
      countMove(metrics, move);
    }
    logger.debug(
      { rangeId: held.rangeId, to: move.to, doneAhead: this.#prefix.doneAhead, answer: answer.kind },
      'chunk.advanced',
    );
  }

  async #runWithPartialAdvances(run: Run, onPartMoved: () => void): Promise<RunEnding> {
    let failure: { readonly error: unknown } | undefined;
    const timer = setInterval(() => {
      const { held } = this.#handling;
      const before = held.cursor;
      this.commit().then(
        () => {
          if (held.cursor > before) onPartMoved();
        },
        (error: unknown) => {
          failure ??= { error };
        },
      );
    }, PARTIAL_ADVANCE_MS);
    try {
      const ending = await run.run();
      if (failure !== undefined) throw failure.error;
      return ending;
    } finally {
      clearInterval(timer);
    }
  }
}
