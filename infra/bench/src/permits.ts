/** So many at once, first come, first served. */
export interface Permits {
  take(): Promise<void>;
  give(): void;
  /** The most that were ever taken at once. */
  readonly mostTaken: number;
}

export function createPermits(count: number): Permits {
  const waiting: (() => void)[] = [];
  let head = 0;
  let taken = 0;
  let mostTaken = 0;
  return {
    take() {
      if (taken >= count) return new Promise((resolve) => waiting.push(resolve));
      taken += 1;
      mostTaken = Math.max(mostTaken, taken);
      return Promise.resolve();
    },
    give() {
      const next = waiting[head];
      // The permit goes from hand to hand, so the count stays.
      if (next === undefined) taken -= 1;
      else {
        head += 1;
        next();
      }
    },
    get mostTaken() {
      return mostTaken;
    },
  };
}
