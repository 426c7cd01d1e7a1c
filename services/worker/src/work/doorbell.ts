/** Lets idle slots sleep until somebody rings, the poll is due, or the worker stops. */
import { sleep } from '@tidemark/keyspace';

export class Doorbell {
  #rung = new AbortController();

  ring(): void {
    const rung = this.#rung;
    this.#rung = new AbortController();
    rung.abort();
  }

  wait(ms: number, stop: AbortSignal): Promise<void> {
    return sleep(ms, this.#rung.signal, stop);
  }
}
