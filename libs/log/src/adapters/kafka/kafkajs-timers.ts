/** What version 2.2.4 of kafkajs needs to behave on a current Node, for every client of this process. */
import { createRequire } from 'node:module';

interface RequestQueue {
  throttledUntil: number;
  pending: readonly unknown[];
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  checkPendingRequests(): void;
  scheduleCheckPendingRequests(): void;
}

const PENDING_CHECK_MS = 10;
let timersRepaired = false;

/**
 * The client's request queue re-arms a timer with `throttledUntil - now` also when nothing is throttled. That is a large
 * negative number: Node 24 warns about it on stderr and then runs the timer every millisecond for as long as the
 * connection lives (2.5 % of a core for each idle producer, measured). This arms it only when something waits; every
 * other way into the queue checks it anyway.
 */
export function repairTimers(): void {
  if (timersRepaired) return;
  timersRepaired = true;
  const queueClass: { prototype: RequestQueue } = createRequire(import.meta.url)('kafkajs/src/network/requestQueue');
  queueClass.prototype.scheduleCheckPendingRequests = function schedule(this: RequestQueue): void {
    const throttledForMs = this.throttledUntil - Date.now();
    if (this.throttleCheckTimeoutId !== null || (throttledForMs <= 0 && this.pending.length === 0)) return;
    this.throttleCheckTimeoutId = setTimeout(
      () => {
        this.throttleCheckTimeoutId = null;
        this.checkPendingRequests();
      },
      throttledForMs > 0 ? throttledForMs : PENDING_CHECK_MS,
    );
  };
}
