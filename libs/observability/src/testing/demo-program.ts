/** A program for tests of its life: `idle`, `stubborn` (its stop never ends) or `careless` (a rejection that nobody handles). */
import { createLogger, runProgram } from '../../index.ts';

const manner = process.argv[2];
const logger = createLogger({ program: 'demo', level: 'info' });
const alive = setInterval(() => undefined, 1_000);

await runProgram({
  name: 'demo',
  start: async () => {
    if (manner === 'careless') setImmediate(() => void Promise.reject(new TypeError('x is undefined')));
    const stop = async (): Promise<void> => {
      if (manner === 'stubborn') await new Promise(() => undefined);
      clearInterval(alive);
    };
    return { stop, logger };
  },
});
