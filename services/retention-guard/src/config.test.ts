import { expect, it } from 'vitest';
import { readConfig } from './config.ts';

it('knows the policies, and a default for everything else', () => {
  const config = readConfig({ TIDEMARK_GUARD_TOPICS: 'orders=7d' });
  expect(config.TIDEMARK_GUARD_TOPICS).toEqual([{ topic: 'orders', ageMs: 604_800_000, bytes: undefined }]);
  expect(config).toMatchObject({
    TIDEMARK_GUARD_EVERY_MS: 30_000,
    TIDEMARK_GUARD_ONCE: false,
    TIDEMARK_GUARD_REPAIR: false,
  });
  expect(config.TIDEMARK_GUARD_GROUPS).toEqual(new Map());
});

it.each([
  [{}, /TIDEMARK_GUARD_TOPICS: is not set/],
  [{ TIDEMARK_GUARD_TOPICS: ',' }, /TIDEMARK_GUARD_TOPICS: names no topic/],
  [{ TIDEMARK_GUARD_TOPICS: 'orders=7,chat' }, /"7" is no bound.*; TIDEMARK_GUARD_TOPICS: "chat" is not topic=bound/],
  [{ TIDEMARK_GUARD_TOPICS: 'tidemark.job-state=7d' }, /tidemark.job-state is a topic of our own/],
  [
    { TIDEMARK_GUARD_TOPICS: 'orders=7d', TIDEMARK_GUARD_GROUPS: 'chat=push' },
    /GROUPS: chat is not among TIDEMARK_GUARD_TOPICS/,
  ],
  [{ TIDEMARK_GUARD_TOPICS: 'orders=7d', TIDEMARK_GUARD_GROUPS: 'orders' }, /"orders" is not topic=group/],
  [
    { TIDEMARK_GUARD_TOPICS: 'orders=7d', TIDEMARK_GUARD_HOLD: 'chat=3d' },
    /HOLD: chat is not among TIDEMARK_GUARD_TOPICS/,
  ],
  [{ TIDEMARK_GUARD_TOPICS: 'orders=7d', TIDEMARK_GUARD_HOLD: 'orders=7d/3d' }, /released before its alarm/],
  [{ TIDEMARK_GUARD_TOPICS: 'orders=7d', TIDEMARK_GUARD_EVERY_MS: '1' }, /TIDEMARK_GUARD_EVERY_MS/],
])('refuses %j in words', (env, message) => {
  expect(() => readConfig(env)).toThrow(message);
});
