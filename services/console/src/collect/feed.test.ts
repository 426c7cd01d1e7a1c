import { describe, expect, it } from 'vitest';
import { createFeed } from './feed.ts';

function rig(options: { everyMs?: number } = {}) {
  let nowMs = 0;
  const answers: (() => Promise<string>)[] = [];
  let looks = 0;
  const feed = createFeed({
    look: () => {
      looks += 1;
      return answers.shift()?.() ?? Promise.resolve('value');
    },
    staleAfterMs: 100,
    now: () => nowMs,
    ...options,
  });
  return {
    feed,
    answers,
    looks: () => looks,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe('a feed', () => {
  it('is not known, and not down either, before anybody asked', () => {
    expect(rig().feed.read()).toEqual({ kind: 'unknown', reason: 'being looked up', wasAsked: false });
  });

  it('knows what it saw until that is old', async () => {
    const { feed, pass } = rig();
    await feed.refresh();
    pass(100);
    expect(feed.read()).toEqual({ kind: 'known', value: 'value', atMs: 0, answeredAtMs: 0 });
    pass(1);
    expect(feed.read().kind).toBe('unknown');
  });

  it('tells when it asked and when it was answered', async () => {
    const { feed, pass, answers } = rig();
    pass(10);
    answers.push(async () => {
      pass(30);
      return 'slow';
    });
    await feed.refresh();
    expect(feed.read()).toEqual({ kind: 'known', value: 'slow', atMs: 10, answeredAtMs: 40 });
  });

  it('a fault does not take back what is still fresh, and is the reason afterwards', async () => {
    const { feed, pass, answers } = rig();
    await feed.refresh();
    answers.push(() => Promise.reject(new Error('connection refused')));
    pass(50);
    await feed.refresh();
    expect(feed.read().kind).toBe('known');
    pass(51);
    expect(feed.read()).toEqual({ kind: 'unknown', reason: 'connection refused', wasAsked: true });
  });

  it('a look that hangs makes it unknown, and is not begun twice', () => {
    const { feed, pass, answers, looks } = rig();
    answers.push(() => new Promise(() => {}));
    void feed.refresh();
    void feed.refresh();
    expect(looks()).toBe(1);
    pass(12_000);
    expect(feed.read()).toEqual({ kind: 'unknown', reason: 'no answer for 12 s', wasAsked: true });
  });

  it('spares looks that come sooner than it needs', async () => {
    const { feed, pass, looks } = rig({ everyMs: 1_000 });
    await feed.refresh();
    pass(999);
    await feed.refresh();
    expect(looks()).toBe(1);
    expect(feed.read().kind).toBe('known');
    pass(1);
    await feed.refresh();
    expect(looks()).toBe(2);
  });
});
