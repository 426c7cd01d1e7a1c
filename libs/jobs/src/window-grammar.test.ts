import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseWindow, type WindowSpec } from './window-grammar.ts';

function parsed(from: string, to = 'now'): WindowSpec {
  const answer = parseWindow({ from, to });
  if (answer.kind === 'refused') throw new Error(answer.reasons.join('; '));
  return answer.spec;
}

function refusal(from: string, to = 'now'): string {
  const answer = parseWindow({ from, to });
  return answer.kind === 'refused' ? answer.reasons.join('; ') : `accepted ${from} to ${to}`;
}

describe('window texts', () => {
  it('a disorder bound needs an instant as the end, and 0 is one', () => {
    const [from, to] = ['earliest', '1700000000000'];
    expect(parseWindow({ from, to, disorderMs: 0n })).toMatchObject({ spec: { disorderMs: 0 } });
    expect(parseWindow({ from, to, disorderMs: 5_000n })).toMatchObject({ spec: { disorderMs: 5_000 } });
    const unstated = parseWindow({ from, to, disorderMs: -1n });
    expect(unstated.kind === 'window' && 'disorderMs' in unstated.spec).toBe(false);
    for (const end of ['now', '0:5'])
      expect(parseWindow({ from, to: end, disorderMs: 0n })).toEqual({
        kind: 'refused',
        reasons: ['a disorder bound says where a window by time ends: it needs an instant as its end'],
      });
  });

  it('C3: milliseconds, UTC and a half-hour zone name the same instant', () => {
    const instant = { kind: 'instant', ms: 1_700_000_000_000 };
    expect(parsed('1700000000000').from).toEqual(instant);
    expect(parsed('2023-11-14T22:13:20Z').from).toEqual(instant);
    expect(parsed('2023-11-15T03:43:20+05:30').from).toEqual(instant);
    expect(parsed('2023-11-14T17:13:20-05:00').from).toEqual(instant);
    expect(parsed('2023-11-14T22:13:20.000Z').from).toEqual(instant);
  });

  it('C3: seconds are refused with a hint, and so is a time without a zone', () => {
    expect(refusal('1700000000')).toContain('looks like epoch seconds');
    expect(refusal('1700000000')).toContain('1700000000000');
    expect(refusal('2023-11-14T22:13:20')).toContain('has no zone');
    expect(refusal('1700000000000000')).toContain('too large');
  });

  it.each([
    ['2023-11-14', 'no time of day'],
    ['2023-02-30T00:00:00Z', 'no date or time'],
    ['2023-11-14T24:00:00Z', 'no date or time'],
    ['2023-11-14T22:13:20+19:00', 'not a zone'],
    ['2023-11-14T22:13:20+05:75', 'not a zone'],
    ['yesterday', 'none of'],
    ['', 'none of'],
    ['-5', 'none of'],
    ['0', 'epoch seconds'],
    ['0:1,0:2', 'named twice'],
    ['0:1,1', 'not partition:offset'],
    ['0:-1', 'none of'],
    ['0:9223372036854775808', 'larger than any offset'],
    ['after:', 'needs a job id'],
    [' now', 'none of'],
  ])('refuses %j: %s', (text, reason) => {
    expect(refusal(text)).toContain(reason);
  });

  it('takes the words only where they mean something', () => {
    expect(parsed('earliest').from).toEqual({ kind: 'earliest' });
    expect(parsed('after:nightly-1').from).toEqual({ kind: 'after', jobId: 'nightly-1' });
    expect(refusal('now', 'earliest')).toContain('to: ');
    expect(refusal('now', 'after:x')).toContain('to: ');
  });

  it('says all faults of both sides at once', () => {
    const answer = parseWindow({ from: 'soon', to: '1700000000' });
    expect(answer.kind === 'refused' && answer.reasons).toHaveLength(2);
  });

  it('refuses an end before the start, by time and by offset, and partitions named on one side only', () => {
    expect(refusal('1700000000001', '1700000000000')).toContain('is before the start');
    expect(refusal('0:5', '0:4')).toContain('end 4 of partition 0 is before its start 5');
    expect(refusal('0:5,1:0', '0:9')).toContain('to does not');
    expect(refusal('0:5', '0:9,2:1')).toContain('from does not');
    expect(parsed('0:5', '0:5').to.kind).toBe('offsets');
  });

  it('keeps offsets above 2^53 exact', () => {
    const { from } = parsed('0:9007199254740993');
    expect(from.kind === 'offsets' && from.offsets.get(0)).toBe(9_007_199_254_740_993n);
  });

  it('rounds fractions of a millisecond up, so that "at or after" and "before" keep their meaning', () => {
    expect(parsed('2023-11-14T22:13:20.0001Z').from).toEqual({ kind: 'instant', ms: 1_700_000_000_001 });
    expect(parsed('2023-11-14T22:13:20.123Z').from).toEqual({ kind: 'instant', ms: 1_700_000_000_123 });
  });

  it('reads back every instant that a date prints', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100_000_000_000, max: 99_999_999_999_999 }), (ms) => {
        const text = new Date(ms).toISOString();
        fc.pre(text.length === 24);
        expect(parsed(text).from).toEqual({ kind: 'instant', ms });
        expect(parsed(String(ms)).from).toEqual({ kind: 'instant', ms });
      }),
    );
  });
});
