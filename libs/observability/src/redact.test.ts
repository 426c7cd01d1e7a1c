import { describe, expect, it } from 'vitest';
import { redactSettings, redactUrl } from './redact.ts';

describe('redactUrl', () => {
  it.each([
    ['postgres://tidemark:geheim@db:5432/shop?sslmode=require', 'postgres://tidemark:***@db:5432/shop?sslmode=require'],
    ['redis://:geheim@cache:6379', 'redis://:***@cache:6379'],
    ['https://registry/?apiKey=geheim&x=1', 'https://registry/?apiKey=***&x=1'],
    ['postgres://db/shop?user=u&password=geheim', 'postgres://db/shop?user=u&password=***'],
  ])('hides the secret of %s', (url, shown) => {
    expect(redactUrl(url)).toBe(shown);
  });

  it.each(['127.0.0.1:19092', 'tidemark', '', 'http://127.0.0.1:19095/apis/ccompat/v7', 'redis://user@cache:6379'])(
    'leaves %s as it is',
    (text) => {
      expect(redactUrl(text)).toBe(text);
    },
  );
});

describe('redactSettings', () => {
  it('hides values by their name, and URLs inside lists', () => {
    expect(
      redactSettings({ TIDEMARK_API_TOKEN: 'geheim', TIDEMARK_URLS: ['redis://:geheim@a', 'b:1'], TIDEMARK_SLOTS: 4 }),
    ).toEqual({
      TIDEMARK_API_TOKEN: '***',
      TIDEMARK_URLS: ['redis://:***@a', 'b:1'],
      TIDEMARK_SLOTS: 4,
    });
  });
});
