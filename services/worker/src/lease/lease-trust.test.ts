import { describe, expect, it } from 'vitest';
import { LeaseTrust } from './lease-trust.ts';

const terms = { ttlMs: 10_000, marginMs: 1_000 };
const at = (monotonicMs: number, wallMs = monotonicMs) => ({ monotonicMs, wallMs: 1_700_000_000_000 + wallMs });

describe('LeaseTrust', () => {
  it('ends a margin before the ttl, counted from before the request', () => {
    const trust = new LeaseTrust(terms, at(500));
    expect(trust.holds(at(9_499))).toBe(true);
    expect(trust.holds(at(9_500))).toBe(false);
  });

  it('is prolonged by a renewal from the instant at which that was sent', () => {
    const trust = new LeaseTrust(terms, at(0));
    trust.renewed(at(3_000));
    expect(trust.holds(at(11_999))).toBe(true);
    expect(trust.holds(at(12_000))).toBe(false);
    expect(trust.ageMs(at(4_000))).toBe(1_000);
  });

  it('is not shortened by the late answer of an earlier renewal', () => {
    const trust = new LeaseTrust(terms, at(0));
    trust.renewed(at(6_000));
    trust.renewed(at(3_000));
    expect(trust.holds(at(14_999))).toBe(true);
  });

  it('does not outlive a suspend, which stops the monotonic clock but not the wall clock', () => {
    const trust = new LeaseTrust(terms, at(0));
    expect(trust.holds(at(2_000, 62_000))).toBe(false);
  });

  it('takes a clock that was set for a suspend, in either direction', () => {
    expect(new LeaseTrust(terms, at(0)).holds(at(2_000, -60_000))).toBe(false);
    expect(new LeaseTrust(terms, at(0)).holds(at(2_000, 2_900))).toBe(true);
  });

  it('trusts again after a renewal that was sent behind the suspend', () => {
    const trust = new LeaseTrust(terms, at(0));
    trust.renewed(at(2_100, 62_100));
    expect(trust.holds(at(3_000, 63_000))).toBe(true);
  });
});
