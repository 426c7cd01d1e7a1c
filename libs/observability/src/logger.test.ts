import { ErrorClass, TidemarkError } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { createLogger, type LogFields, type LogLevel } from './logger.ts';

function logged(level: LogLevel = 'info') {
  const lines: string[] = [];
  const logger = createLogger({ program: 'worker', level, destination: { write: (line) => void lines.push(line) } });
  return { logger, entries: () => lines.map((line) => JSON.parse(line) as LogFields), lines };
}

describe('createLogger', () => {
  it('writes one line of JSON with the event as its message', () => {
    const { logger, entries } = logged();
    logger.info({ partition: 3 }, 'chunk.advanced');
    logger.warn('relay.idle');
    expect(entries()).toMatchObject([
      { level: 'info', program: 'worker', partition: 3, msg: 'chunk.advanced' },
      { level: 'warn', msg: 'relay.idle' },
    ]);
  });

  it('D4: keeps every digit of offsets above 2^53, wherever they stand, and does not throw', () => {
    const { logger, entries } = logged('debug');
    logger
      .child({ jobId: 'j', cursor: 9007199254740993n })
      .debug({ offset: 9007199254740995n, ranges: [{ end: 2n ** 63n - 1n }] }, 'range.read');
    expect(entries()).toMatchObject([
      { cursor: '9007199254740993', offset: '9007199254740995', ranges: [{ end: '9223372036854775807' }] },
    ]);
  });

  it('shows errors with code, class, context and cause, and the stack only at level debug', () => {
    const error = new TidemarkError({
      code: 'REGISTRY_UNAVAILABLE',
      class: ErrorClass.unavailable,
      message: 'no answer',
      context: { offset: 9007199254740993n },
      cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }),
    });
    const quiet = logged();
    quiet.logger.error({ error }, 'codec.failed');
    expect(quiet.entries()[0]?.['error']).toEqual({
      name: 'TidemarkError',
      message: 'no answer',
      code: 'REGISTRY_UNAVAILABLE',
      class: 'unavailable',
      context: { offset: '9007199254740993' },
      cause: { name: 'Error', message: 'connect', code: 'ECONNREFUSED' },
    });
    const loud = logged('debug');
    loud.logger.error({ error }, 'codec.failed');
    expect(loud.lines[0]).toContain('"stack"');
  });

  it('bounds what it writes: bytes by their number, long arrays, depth, cycles', () => {
    const { logger, entries } = logged();
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    logger.info(
      { value: Buffer.from('secret'), many: Array.from({ length: 60 }, (_, index) => index), cycle },
      'odd.fields',
    );
    const [entry] = entries();
    expect(entry).toMatchObject({ value: '6 bytes' });
    expect(entry?.['many']).toHaveLength(51);
    expect(JSON.stringify(entry?.['cycle'])).toContain('...');
  });

  it('writes nothing below its level', () => {
    const { logger, lines } = logged('warn');
    logger.info('program.started');
    expect(lines).toEqual([]);
  });
});
