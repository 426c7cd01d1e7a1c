import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ErrorClass, TidemarkError } from './errors.ts';
import { backoff, orAborted, retrying, sleep } from './time.ts';

const errorOf = (errorClass: ErrorClass): TidemarkError =>
  new TidemarkError({ code: 'X', class: errorClass, message: 'x' });

/** Waits no time and remembers how long it should have been. */
function recordedWaits() {
  const waits: number[] = [];
  const wait = async (ms: number): Promise<void> => void waits.push(ms);
  return { waits, wait };
}

describe('backoff', () => {
  it('doubles its upper bound with every attempt up to the maximum', () => {
    const almostOne = () => 1 - Number.EPSILON;
    const bounds = [1, 2, 3, 4, 5, 60].map((attempt) =>
      backoff({ baseMs: 100, maxMs: 1_000, attempt, random: almostOne }),
    );
    expect(bounds).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });

  it('stays within [0, bound] for any attempt and chance', () => {
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 5_000 }), chance, (attempt, random) => {
        const waitMs = backoff({ baseMs: 50, maxMs: 10_000, attempt, random: () => random });
        return (
          Number.isInteger(waitMs) && waitMs >= 0 && waitMs <= Math.min(10_000, 50 * 2 ** Math.max(0, attempt - 1))
        );
      }),
    );
  });
});

describe('backoff with a fixed part', () => {
  it('stays within [part of the bound, bound]', () => {
    const waits = [0, 1 - Number.EPSILON].map((chance) =>
      backoff({ baseMs: 20, maxMs: 1_000, attempt: 2, fixedPart: 0.5, random: () => chance }),
    );
    expect(waits).toEqual([20, 40]);
  });
});

describe('retrying', () => {
  const options = { attemptsMax: 4, baseMs: 10, maxMs: 1_000, random: () => 0.999 };

  it('tries again after transient faults and tells each wait', async () => {
    const { waits, wait } = recordedWaits();
    const told: number[] = [];
    const result = await retrying(
      { ...options, wait, onRetry: ({ attempt }) => told.push(attempt) },
      async (attempt) => {
        if (attempt < 3) throw errorOf(ErrorClass.unavailable);
        return attempt;
      },
    );
    expect(result).toBe(3);
    expect(waits).toEqual([10, 20]);
    expect(told).toEqual([1, 2]);
  });

  it('gives up with the last error', async () => {
    const { waits, wait } = recordedWaits();
    const error = errorOf(ErrorClass.transient);
    await expect(retrying({ ...options, wait }, () => Promise.reject(error))).rejects.toBe(error);
    expect(waits).toHaveLength(3);
  });

  it.each([ErrorClass.data, ErrorClass.config, ErrorClass.fenced, ErrorClass.bug, ErrorClass.lost])(
    'does not repeat a fault of class %s',
    async (errorClass) => {
      let calls = 0;
      const error = errorOf(errorClass);
      const failing = (): Promise<never> => {
        calls += 1;
        return Promise.reject(error);
      };
      await expect(retrying(options, failing)).rejects.toBe(error);
      expect(calls).toBe(1);
    },
  );

  it('ends when the caller has lost patience', async () => {
    const patience = new AbortController();
    const error = errorOf(ErrorClass.transient);
    const wait = async (): Promise<void> => patience.abort();
    let calls = 0;
    const failing = (): Promise<never> => {
      calls += 1;
      return Promise.reject(error);
    };
    await expect(retrying({ ...options, signal: patience.signal, wait }, failing)).rejects.toBe(error);
    expect(calls).toBe(1);
  });
});

describe('sleep', () => {
  it('ends at once when it is aborted, before or during', async () => {
    await sleep(60_000, AbortSignal.abort());
    const controller = new AbortController();
    const sleeping = sleep(60_000, controller.signal);
    controller.abort();
    await sleeping;
  });

  it('ends with whichever signal is the first', async () => {
    const silent = new AbortController().signal;
    const controller = new AbortController();
    const sleeping = [sleep(60_000, controller.signal, silent), sleep(60_000, silent, undefined, controller.signal)];
    controller.abort();
    await Promise.all(sleeping);
    await sleep(60_000, silent, AbortSignal.abort());
  });
});

describe('orAborted', () => {
  const never = Promise.withResolvers<never>().promise;

  it('gives the work up with the reason of the signal or one of the caller, before and while it runs', async () => {
    const stop = new AbortController();
    const [running, said] = [orAborted(never, stop.signal), orAborted(never, stop.signal, () => 'enough')];
    stop.abort('stopped');
    await expect(running).rejects.toBe('stopped');
    await expect(said).rejects.toBe('enough');
    await expect(orAborted(never, stop.signal)).rejects.toBe('stopped');
  });

  it('is what the work is otherwise', async () => {
    const { signal } = new AbortController();
    await expect(orAborted(Promise.resolve(7), signal)).resolves.toBe(7);
    await expect(orAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
  });
});
