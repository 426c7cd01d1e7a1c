import { toOffset } from '@tidemark/keyspace';
import type { ReadAnswer } from '@tidemark/log';
import { describe, expect, it } from 'vitest';
import { chunkOf } from '../testing/chunks.ts';
import { type ReadSituation, verdictOf } from './verdict.ts';

const situation: ReadSituation = { topic: 't', cursor: toOffset(19), end: toOffset(99), onLost: 'stop', suspicions: 0 };
const lost: ReadAnswer = { kind: 'lost', first: toOffset(20), last: toOffset(49), logStartOffset: toOffset(50) };

describe('verdictOf', () => {
  it('handles a chunk', () => {
    const chunk = chunkOf(19, 3);
    expect(verdictOf({ kind: 'chunk', chunk }, situation)).toEqual({ kind: 'handle', chunk });
  });

  it('waits for an open transaction, by name', () => {
    const answer: ReadAnswer = {
      kind: 'open transaction',
      lastStableOffset: toOffset(20),
      highWatermark: toOffset(120),
    };
    expect(verdictOf(answer, { ...situation, suspicions: 99 })).toEqual({
      kind: 'wait',
      note: 'waiting: open transaction at 20',
    });
  });

  it('B1: stops at once where offsets are lost, naming them', () => {
    expect(verdictOf(lost, situation)).toEqual({
      kind: 'stop',
      note: 'OFFSETS_LOST: 20-49',
      lost: [{ first: 20n, last: 49n }],
    });
  });

  it('B1: passes and counts them when the job opted in', () => {
    expect(verdictOf(lost, { ...situation, onLost: 'skip' })).toEqual({ kind: 'pass lost', to: 49n });
  });

  it('B1: never passes the end of the range', () => {
    const all: ReadAnswer = { ...lost, last: toOffset(150), logStartOffset: toOffset(151) };
    expect(verdictOf(all, { ...situation, onLost: 'skip' })).toEqual({ kind: 'pass lost', to: 99n });
    expect(verdictOf(all, situation)).toMatchObject({ kind: 'stop', lost: [{ first: 20n, last: 99n }] });
  });

  it.each<[string, ReadAnswer, string]>([
    [
      'end of log',
      { kind: 'end of log', highWatermark: toOffset(20) },
      'LOG_TRUNCATED: the log ends at 20, the window reaches to 99',
    ],
    [
      'log went back',
      { kind: 'log went back', highWatermark: toOffset(10) },
      'LOG_TRUNCATED: the log ends at 10, the window reaches to 99',
    ],
    ['topic missing', { kind: 'topic missing' }, 'TOPIC_NOT_FOUND: topic t is not there any more'],
    ['topic recreated', { kind: 'topic recreated', topicId: 'x' }, 'TOPIC_RECREATED: topic t is another one now (x)'],
    ['unreadable', { kind: 'unreadable', offset: toOffset(20), message: 'codec 5' }, 'UNREADABLE: offset 20: codec 5'],
  ])('asks twice more before it stops for %s', (_kind, answer, note) => {
    expect(verdictOf(answer, situation)).toEqual({ kind: 'ask again' });
    expect(verdictOf(answer, { ...situation, suspicions: 1 })).toEqual({ kind: 'ask again' });
    expect(verdictOf(answer, { ...situation, suspicions: 2 })).toEqual({ kind: 'stop', note, lost: [] });
  });
});
