import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

interface Format {
  count(value: string | number | bigint | null | undefined): string;
  countAtLeast(value: string | number | null, isAtLeast: boolean): string;
  durationAtLeast(value: number | null, isAtLeast: boolean): string;
  place(value: string | null): string;
  duration(seconds: number | null | undefined): string;
  rate(value: number | null): string;
  percent(value: number | null): string;
  instant(value: string | null): string;
  portion(part: bigint, whole: bigint): number;
  shellWord(text: string): string;
  size(bytes: number): string;
}

// The pages are plain JavaScript, which the type checker of the programs does not read.
const { count, countAtLeast, place, duration, durationAtLeast, rate, percent, instant, portion, shellWord, size } =
  (await import(new URL('./format.js', import.meta.url).href)) as Format;

describe('numbers as people read them', () => {
  it('a figure with an unknown part says "at least", and one of which nothing is known is a dash', () => {
    expect([countAtLeast('1200', true), countAtLeast('1200', false), countAtLeast(null, true)]).toEqual([
      'at least 1,200',
      '1,200',
      '–',
    ]);
    expect([durationAtLeast(4, true), durationAtLeast(4, false), durationAtLeast(null, true)]).toEqual([
      'at least 4 s',
      '4 s',
      '–',
    ]);
  });

  it('what nobody knows is a dash', () => {
    const unknown = [
      count(null),
      count(Number.NaN),
      duration(undefined),
      duration(Number.POSITIVE_INFINITY),
      rate(null),
      percent(Number.NaN),
      instant(null),
    ];
    expect(new Set(unknown)).toEqual(new Set(['–']));
  });

  it('offsets of 64 bits keep every digit', () => {
    expect(count('9223372036854775807')).toBe('9,223,372,036,854,775,807');
  });

  it.each([
    [0, '0 s'],
    [0.44, '0.4 s'],
    [59.6, '1 min'],
    [185, '3 min 5 s'],
    [7_800, '2 h 10 min'],
    [273_600, '3 d 4 h'],
  ])('%f seconds are %s', (seconds, text) => expect(duration(seconds)).toBe(text));

  it('99.99 % is not done, and a rate has its unit', () => {
    expect([percent(99.99), percent(100), rate(1_226.4), rate(0.25)]).toEqual(['99.9 %', '100 %', '1,226/s', '0.3/s']);
  });

  it('a cursor before the first record settled none', () => {
    expect([place('-1'), place('0')]).toEqual(['none yet', '0']);
  });

  it('shares are finite, whatever the whole', () => {
    expect([portion(1n, 3n), portion(0n, 0n), portion(5n, 3n), portion(-2n, 3n)]).toEqual([33.33, 0, 100, 0]);
  });

  it('instants carry their zone', () => {
    expect(instant('2026-11-29T17:20:03.123Z')).toBe('2026-11-29 17:20:03 UTC');
  });
});

it('what is shown as a word of a command is that word to a shell, whatever is in it', () => {
  const told = (text: string) => execFileSync('sh', ['-c', `printf %s ${shellWord(text)}`]).toString();
  for (const text of ['plain', '', "it's", '$(id)', '`id`; rm -rf "~" \\ !', 'a\nb', '--yes', "''"])
    expect(told(text)).toBe(text);
  const words = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0') && text.isWellFormed());
  fc.assert(
    fc.property(words, (text) => {
      expect(told(text)).toBe(text);
    }),
    { numRuns: 30 },
  );
});

it('sizes are those of bytes, in the unit that a person reads', () => {
  expect([0, 1, 1_023, 1_024, 1_536, 8 * 1_024 ** 2, 3 * 1_024 ** 4].map(size)).toEqual([
    '0 bytes',
    '1 byte',
    '1,023 bytes',
    '1 KiB',
    '1.5 KiB',
    '8 MiB',
    '3072 GiB',
  ]);
});
