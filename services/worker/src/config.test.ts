import { expect, it } from 'vitest';
import { loadWorkerConfig } from './config.ts';

it('keeps dead letters for ever or for an hour and more; what is shorter is in another unit by mistake', () => {
  const retention = (ms: string): number =>
    loadWorkerConfig({ TIDEMARK_DEAD_LETTER_RETENTION_MS: ms }).TIDEMARK_DEAD_LETTER_RETENTION_MS;
  expect(retention('-1')).toBe(-1);
  expect(retention('3600000')).toBe(3_600_000);
  for (const wrong of ['0', '-2', '30', '3599999'])
    expect(() => retention(wrong)).toThrow(/DEAD_LETTER_RETENTION_MS.* -1 \(for ever\) or at least 3600000/s);
});
