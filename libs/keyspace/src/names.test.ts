import { describe, expect, it } from 'vitest';
import { checkNamespace, isHandlerName, isJobId, isTopicName } from './names.ts';

describe('a namespace', () => {
  it.each(['tidemark', 'team_a2', 'x', 'x'.repeat(40)])('takes %j', (namespace) => {
    expect(checkNamespace(namespace)).toBe(namespace);
  });

  it.each(['', '_x', '-x', '1x', 'Team', 'a-b', 'a.b', 'a b', 'a{b', 'a"b', "a'b", 'a$b', 'pg_x', 'ä', 'x'.repeat(41)])(
    'refuses %j',
    (namespace) => {
      expect(() => checkNamespace(namespace)).toThrow(
        expect.objectContaining({ code: 'BAD_NAMESPACE', class: 'config' }),
      );
    },
  );
});

describe('a job id', () => {
  it('is a plain word', () => {
    expect(['a', '7', 'Nightly.7_x-y', 'x'.repeat(128)].filter((text) => !isJobId(text))).toEqual([]);
    const wrong = ['', ' ', 'a b', '{x}', 'a/b', 'a:b', '-a', '.a', 'a\n', 'x'.repeat(129), 'ü'];
    expect(wrong.filter((text) => isJobId(text))).toEqual([]);
  });
});

describe('a handler name', () => {
  it('is lower-case words', () => {
    expect(['count', 'im-fanout', 'a.b_c2', 'x'.repeat(64)].filter((text) => !isHandlerName(text))).toEqual([]);
    const wrong = ['', 'Count', '2x', 'a--b', 'a-', 'a b', 'x'.repeat(65)];
    expect(wrong.filter((text) => isHandlerName(text))).toEqual([]);
  });
});

describe('a topic name', () => {
  it('is what Kafka takes', () => {
    expect(['a', '...', 'a.b_C-9', 'x'.repeat(249)].filter((text) => !isTopicName(text))).toEqual([]);
    expect(['', '.', '..', 'a b', 'a/b', 'ä', 'x'.repeat(250)].filter((text) => isTopicName(text))).toEqual([]);
  });
});
