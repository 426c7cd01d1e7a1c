import { silentLogger } from '@tidemark/observability';
import { describe, expect, it } from 'vitest';
import { BREAKERS_PER_HANDLER_MAX } from '../limits.ts';
import { Breakers } from './breakers.ts';

function setUp(random = 0) {
  const now = { monotonicMs: 0, wallMs: 0 };
  const breakers = new Breakers({ clock: { now: () => ({ ...now }) }, random: () => random, logger: silentLogger });
  const fail = (dependency = 'sink'): void => {
    const pass = breakers.enter('h');
    breakers.failed('h', pass, { dependency, message: 'down' });
    breakers.leave('h', pass);
  };
  const pass = (ms: number): void => {
    now.monotonicMs += ms;
  };
  return { breakers, fail, pass };
}

describe('Breakers', () => {
  it('lets everything through until something fails, then nothing until the pause is over', () => {
    const { breakers, fail, pass } = setUp();
    expect(breakers.enter('h')).toEqual({ kind: 'free' });
    fail();
    expect(breakers.enter('h')).toEqual({ kind: 'wait', dependency: 'sink', forMs: 100 });
    expect(breakers.waiting('h')).toEqual({ kind: 'wait', dependency: 'sink', forMs: 100 });
    expect(breakers.enter('other')).toEqual({ kind: 'free' });
    pass(100);
    expect(breakers.waiting('h')).toBeUndefined();
  });

  it('lets one probe through at a time', () => {
    const { breakers, fail, pass } = setUp();
    fail();
    pass(100);
    const probe = breakers.enter('h');
    expect(probe).toEqual({ kind: 'probe', dependency: 'sink' });
    expect(breakers.enter('h')).toMatchObject({ kind: 'wait', dependency: 'sink' });
    breakers.completed('h', probe);
    breakers.leave('h', probe);
    expect(breakers.enter('h')).toEqual({ kind: 'free' });
  });

  it('pauses for longer and longer while probes fail, up to a bound, and jitters the pause', () => {
    const pausesOf = (random: number): number[] => {
      const { breakers, fail, pass } = setUp(random);
      return Array.from({ length: 8 }, () => {
        fail();
        const forMs = breakers.waiting('h')?.forMs ?? 0;
        pass(forMs);
        return forMs;
      });
    };
    expect(pausesOf(0)).toEqual([100, 200, 400, 800, 1_600, 2_500, 2_500, 2_500]);
    expect(pausesOf(0.999_999)).toEqual([200, 400, 800, 1_600, 3_200, 5_000, 5_000, 5_000]);
  });

  it('takes failures of chunks that were under way already for no news', () => {
    const { breakers, pass } = setUp();
    const [a, b] = [breakers.enter('h'), breakers.enter('h')];
    breakers.failed('h', a, { dependency: 'sink', message: 'down' });
    pass(60);
    breakers.failed('h', b, { dependency: 'sink', message: 'down' });
    expect(breakers.waiting('h')?.forMs).toBe(40);
    // A chunk that began before the outage may complete without having asked the dependency again.
    breakers.completed('h', b);
    expect(breakers.waiting('h')?.forMs).toBe(40);
  });

  it('lets the next one probe when a probe did not come about', () => {
    const { breakers, fail, pass } = setUp();
    fail();
    pass(100);
    breakers.leave('h', breakers.enter('h'));
    expect(breakers.enter('h')).toEqual({ kind: 'probe', dependency: 'sink' });
  });

  it('keeps dependencies apart: a probe that meets another one says nothing of the first', () => {
    const { breakers, fail, pass } = setUp();
    fail('a');
    pass(100);
    fail('b');
    expect(breakers.waiting('h')).toEqual({ kind: 'wait', dependency: 'b', forMs: 100 });
    pass(100);
    const probe = breakers.enter('h');
    breakers.completed('h', probe);
    expect(breakers.waiting('h')).toBeUndefined();
    expect(breakers.enter('h')).toEqual({ kind: 'free' });
  });

  it('remembers a bounded number of names, should a handler make up new ones', () => {
    const { breakers } = setUp();
    const passes = Array.from({ length: BREAKERS_PER_HANDLER_MAX + 5 }, () => breakers.enter('h'));
    for (const [place, each] of passes.entries())
      breakers.failed('h', each, { dependency: `name-${place}`, message: 'down' });
    expect(breakers.waiting('h')?.dependency).toBe('name-5');
  });
});
