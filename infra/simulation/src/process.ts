/**
 * A simulated process: what runs in it can be stopped for a while (SIGSTOP) or for ever (SIGKILL). Code goes on only by
 * a timer or by an answer of a port, and both come through here, so a process that is dead does nothing any more.
 */
import type { TimerOwner, VirtualTime } from './virtual-time.ts';

export type ProcessKind = 'worker' | 'distributor' | 'guard';

export class SimulatedProcess implements TimerOwner {
  readonly name: string;
  readonly kind: ProcessKind;
  #alive = true;
  #stopped = false;
  /** What came while it was stopped. */
  #pending: (() => void)[] = [];

  constructor(kind: ProcessKind, name: string) {
    this.kind = kind;
    this.name = name;
  }

  get alive(): boolean {
    return this.#alive;
  }

  get running(): boolean {
    return this.#alive && !this.#stopped;
  }

  onTimer(fire: () => void): void {
    if (this.running) fire();
    else if (this.#alive) this.#pending.push(fire);
  }

  /** Resolves while the process runs; never, when it is dead. */
  gate(): Promise<void> | undefined {
    if (this.running) return undefined;
    return new Promise((resolve) => {
      if (this.#alive) this.#pending.push(resolve);
    });
  }

  kill(): void {
    this.#alive = false;
    this.#pending = [];
  }

  stop(): void {
    this.#stopped = true;
  }

  /** All that was due meanwhile comes at once, in its order. */
  goOn(time: VirtualTime): void {
    if (!this.#alive) return;
    this.#stopped = false;
    const pending = this.#pending;
    this.#pending = [];
    time.runAs(this, () => {
      for (const each of pending) each();
    });
  }
}
