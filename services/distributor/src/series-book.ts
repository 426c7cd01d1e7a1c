/** What the distributor knows of all series: exactly what is durable. */
import type { SeriesState } from '@tidemark/contracts';
import { isHeld, SeriesStatus } from '@tidemark/jobs';

export class SeriesBook {
  readonly #states: Map<string, SeriesState>;

  constructor(durable: ReadonlyMap<string, SeriesState>) {
    this.#states = new Map(durable);
  }

  state(series: string): SeriesState | undefined {
    return this.#states.get(series);
  }

  all(): readonly SeriesState[] {
    return [...this.#states.values()];
  }

  /** Those that the log is held for, stopped ones among them. */
  held(): readonly SeriesState[] {
    return this.all().filter(isHeld);
  }

  active(): readonly SeriesState[] {
    return this.all().filter(({ status }) => status === SeriesStatus.active);
  }

  /** After the acknowledgement of a transaction that held it. */
  record(state: SeriesState): void {
    this.#states.set(state.series, state);
  }
}
