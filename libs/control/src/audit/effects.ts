/**
 * What a sink holds, beside what the log holds: both in the order of partition and offset, so that hundreds of millions of
 * records are compared in the memory of a page.
 */

/** How often the effect of a record is in the sink. */
export interface Effect {
  readonly partition: number;
  readonly offset: bigint;
  readonly count: bigint;
}

/** Walks through the effects; whoever asks must ask in their order. */
export class EffectWalk {
  readonly #effects: AsyncIterator<Effect>;
  #next: Effect | undefined;
  #isOver = false;

  /** In the order of partition and offset, one for each record. */
  constructor(effects: AsyncIterable<Effect>) {
    this.#effects = effects[Symbol.asyncIterator]();
  }

  /** 0 without an effect. Those of records that nobody asks for are passed over: a sink may hold those of other jobs. */
  async countAt(partition: number, offset: bigint): Promise<bigint> {
    for (;;) {
      if (this.#next === undefined && !this.#isOver) {
        const step = await this.#effects.next();
        if (step.done === true) this.#isOver = true;
        else this.#next = step.value;
      }
      const next = this.#next;
      if (next === undefined || next.partition > partition || (next.partition === partition && next.offset > offset))
        return 0n;
      this.#next = undefined;
      if (next.partition === partition && next.offset === offset) return next.count;
    }
  }
}
