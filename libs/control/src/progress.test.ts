import { expect, it } from 'vitest';
import { createPaceMeter, describeDuration, describeProgress, STILL } from './progress.ts';

it('A5: an empty job is complete, without NaN and without an ETA', () => {
  const empty = { offsetsDone: 0n, offsetsTotal: 0n, percent: 100 };
  expect(createPaceMeter().observe(0, empty)).toEqual(STILL);
  expect(describeProgress(empty, STILL, { bar: false })).toBe('100 %  0 of 0 offsets');
});

it('measures the pace over the last seconds and says nothing of the end when nothing moves', () => {
  const meter = createPaceMeter();
  const at = (offsetsDone: bigint) => ({ offsetsDone, offsetsTotal: 100_000n, percent: 0 });
  expect(meter.observe(0, at(0n))).toEqual(STILL);
  expect(meter.observe(1_000, at(1_000n))).toEqual({ perSecond: 1_000, etaMs: 99_000 });
  meter.observe(20_000, at(1_000n));
  expect(meter.observe(31_000, at(1_000n))).toEqual(STILL);
});

it('draws the bar, the numbers in groups, the rate and the time left', () => {
  const line = describeProgress(
    { offsetsDone: 2_500n, offsetsTotal: 5_000n, percent: 50 },
    { perSecond: 500, etaMs: 5_000 },
    { bar: true },
  );
  expect(line).toBe(`${'█'.repeat(12)}${'░'.repeat(12)}  50 %  2,500 of 5,000 offsets  500/s  about 5 s left`);
});

it.each([
  [400, '0 s'],
  [59_400, '59 s'],
  [61_000, '1 min 1 s'],
  [7_800_000, '2 h 10 min'],
  [86_399_000, '23 h 59 min'],
  [273_600_000, '3 d 4 h'],
  [604_800_000, '7 d'],
])('writes %i ms as %s', (ms, text) => {
  expect(describeDuration(ms)).toBe(text);
});
