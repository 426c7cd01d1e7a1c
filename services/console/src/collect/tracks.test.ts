import { describe, expect, it } from 'vitest';
import { jobState, rangeState } from '../testing/sights.ts';
import { tracksOf } from './tracks.ts';

const byId = (...states: ReturnType<typeof jobState>[]) => new Map(states.map((state) => [state.jobId, state]));

describe('tracksOf', () => {
  it('follows the contiguous prefix: a later range that is done ahead does not count', () => {
    const ranges = [rangeState({ start: -1, end: 49, cursor: 20 }), rangeState({ start: 49, end: 99, cursor: 99 })];
    const { tracks } = tracksOf(byId(jobState({})), new Map([['job-1', ranges]]));
    expect(tracks).toMatchObject([
      { topic: 'orders', partition: 0, jobId: 'job-1', isActive: true, cursor: 20n, end: 99n },
    ]);
  });

  it('of two jobs the one that is further back speaks', () => {
    const { tracks } = tracksOf(
      byId(jobState({ jobId: 'a' }), jobState({ jobId: 'b' })),
      new Map([
        ['a', [rangeState({ start: -1, end: 99, cursor: 50 })]],
        ['b', [rangeState({ start: -1, end: 99, cursor: 10 })]],
      ]),
    );
    expect(tracks.map(({ jobId, cursor }) => [jobId, cursor])).toEqual([['b', 10n]]);
  });

  it('without an active job it is where the newest complete one ended', () => {
    const { tracks } = tracksOf(
      byId(
        jobState({ jobId: 'older', state: 'COMPLETED', reason: 'clean', requestedAtMs: 1, windows: [[-1, 49]] }),
        jobState({ jobId: 'newer', state: 'COMPLETED', reason: 'clean', requestedAtMs: 2 }),
        jobState({ jobId: 'cancelled', state: 'CANCELLED', requestedAtMs: 3 }),
      ),
      new Map(),
    );
    expect(tracks).toMatchObject([{ jobId: 'newer', isActive: false, cursor: 99n }]);
  });

  it('L1: an active job without known ranges keeps its partitions, and hides no other and is hidden by none', () => {
    const ended = jobState({ jobId: 'ended', state: 'COMPLETED', reason: 'clean', requestedAtMs: 1 });
    const lost = jobState({
      jobId: 'lost',
      windows: [
        [-1, 99],
        [-1, 49],
      ],
    });
    const { tracks, jobsUnknown } = tracksOf(byId(ended, lost), new Map());
    expect(tracks).toMatchObject([
      { jobId: 'lost', partition: 0, isActive: true, cursor: undefined, mayBeLower: true, end: 99n },
      { jobId: 'lost', partition: 1, isActive: true, cursor: undefined, mayBeLower: true, end: 49n },
    ]);
    expect(jobsUnknown).toEqual(['lost']);
  });

  it.each([
    ['older', 1],
    ['newer', 3],
  ])('L1: a known cursor speaks beside an unknown one of an %s job, and may not be the lowest', (_, requestedAtMs) => {
    const states = byId(jobState({ jobId: 'seen', requestedAtMs: 2 }), jobState({ jobId: 'lost', requestedAtMs }));
    const { tracks } = tracksOf(states, new Map([['seen', [rangeState({ start: -1, end: 99, cursor: 50 })]]]));
    expect(tracks).toMatchObject([{ jobId: 'seen', cursor: 50n, mayBeLower: true }]);
  });

  it('a job that is not pinned has none', () => {
    expect(tracksOf(byId(jobState({ windows: [], state: 'PINNING' })), new Map()).tracks).toEqual([]);
  });
});
