import { NO_COUNTS, toOffset } from '@tidemark/keyspace';
import { describe, expect, it } from 'vitest';
import { Story, TOKEN } from './testing/story.ts';

const whole = () => new Story().running.granted().claimed(3).handled(0, 1, 2, 3).advanced(3);

describe('a history in which all is well', () => {
  it('has no faults', () => {
    expect(whole().completed().faults).toEqual([]);
  });

  it('may have a zombie, if nothing of it is accepted', () => {
    const story = new Story().running.granted().claimed(1).delivered(0).granted(TOKEN[1]).claimed(3, TOKEN[1]);
    for (const offset of [0, 1, 2, 3])
      story.delivered(offset, { token: TOKEN[1] }).answered(offset, { token: TOKEN[1] });
    story.answered(0).advanced(3, { token: TOKEN[1] });
    expect(story.completed().faults).toEqual([]);
  });

  it('may have records that were handed out again, as many as it says', () => {
    const story = new Story().running.granted().claimed(0).delivered(0).granted(TOKEN[1]).claimed(3, TOKEN[1]);
    for (const offset of [0, 1, 2, 3])
      story.delivered(offset, { token: TOKEN[1] }).answered(offset, { token: TOKEN[1] });
    story.advanced(3, { token: TOKEN[1] });
    expect(story.completed({ maybeRedelivered: 0n }).faults).toEqual([
      'P10 job-1 handed out 1 records again, and says that it may have been 0',
    ]);
  });

  it('may go back to the last checkpoint when the store was lost', () => {
    const story = new Story().running.granted().claimed(1).handled(0, 1).advanced(1);
    story.tell({ kind: 'store lost', how: 'emptied' }).installed().granted(TOKEN[2]).claimed(3, TOKEN[2]);
    for (const offset of [0, 1, 2, 3])
      story.delivered(offset, { token: TOKEN[2] }).answered(offset, { token: TOKEN[2] });
    expect(story.advanced(3, { token: TOKEN[2] }).completed().faults).toEqual([]);
  });

  it('has holes in it that nobody handles', () => {
    const story = new Story({}, [{}, { kind: 'marker' }, { kind: 'aborted' }, {}]).running.granted().claimed(3);
    const counted = { ok: 2n, markers: 2n };
    const done = story
      .handled(0, 3)
      .changed({ cursor: 3n as never, status: 'done', counters: { ...NO_COUNTS, ...counted } });
    expect(done.completed().faults).toEqual([]);
  });
});

describe('P4: the cursor', () => {
  it('passes only what is settled', () => {
    const { faults } = new Story().running.granted().claimed(3).handled(0, 1, 3).advanced(3).completed();
    expect(faults).toContain('P4 the cursor of job-1 0:-1 passed 2, which is neither settled nor parked');
    expect(faults).toContain('P1 job-1 0:2 was never settled, and the job is COMPLETED');
  });

  it('passes what is parked, and then it must be settled before it is forgotten', () => {
    const parked = new Story().running
      .granted()
      .claimed(3)
      .handled(0, 1, 3)
      .advanced(3, { park: [2] });
    expect(parked.faults).toEqual(['job-1 came to no end (reached): RUNNING ']);
    const forgotten = parked.changed({ parked: [], counters: { ...NO_COUNTS, ok: 4n } });
    expect(forgotten.faults[0]).toBe('P4 job-1 0:-1 parks 2 no more, and it is not settled');
  });

  it('never goes back', () => {
    const { faults } = new Story().running
      .granted()
      .claimed(1)
      .handled(0, 1)
      .advanced(1)
      .changed({
        cursor: 0n as never,
        counters: { ...NO_COUNTS, ok: 1n },
      });
    expect(faults[0]).toBe('P4 the cursor of job-1 0:-1 went back from 1 to 0');
  });

  it('is followed by at most one chunk that is handed out', () => {
    const { faults } = new Story({ chunkRecords: 2 }).running.granted().claimed(2);
    expect(faults[0]).toBe('P4 job-1 0:-1 has handed out 3 records beyond its cursor -1, a chunk has 2');
  });
});

describe('P5: owners', () => {
  it('are accepted only under the youngest token', () => {
    const { faults } = new Story().running.granted().claimed(1).handled(0, 1).granted(TOKEN[1]).advanced(1);
    expect(faults[0]).toBe('P5 advance on job-1 0:-1 was accepted of 1:1, the youngest is 1:2');
  });

  it('are not accepted after a restore', () => {
    const story = new Story().running.granted().claimed(1).handled(0, 1);
    const { faults } = story.tell({ kind: 'store lost', how: 'emptied' }).installed().advanced(1);
    expect(faults).toContain('P5 advance on job-1 0:-1 was accepted of 1:1, which was granted before the restore');
  });

  it('get tokens that grow', () => {
    expect(new Story().running.granted(TOKEN[1]).granted(TOKEN[0]).faults[0]).toBe(
      'P5 job-1 0:-1 is granted under 1:1 after 1:2',
    );
  });

  it('hand out nothing beyond what they claimed, nor after somebody else was granted the range', () => {
    expect(new Story().running.granted().claimed(1).delivered(2).faults[0]).toBe(
      'P5 job-1 0:2 is handed out under 1:1, which claimed up to 1',
    );
    expect(new Story().running.granted().claimed(3).granted(TOKEN[1]).delivered(0).faults[0]).toBe(
      'P5 job-1 0:0 is handed out under 1:1, after 1:2 was granted',
    );
    expect(new Story().running.delivered(0).faults[0]).toBe(
      'P5 job-1 0:0 is handed out under 1:1, which was never granted',
    );
  });

  it('hand out again only what they did not settle, and what the cursor has not passed', () => {
    expect(new Story().running.granted().claimed(3).handled(0, 0).faults[0]).toBe(
      'P4 job-1 0:0 is handed out twice by one owner, who had settled it',
    );
    const after = new Story().running.granted().claimed(1).handled(0, 1).advanced(1).granted(TOKEN[1]);
    expect(after.delivered(1, { token: TOKEN[1] }).faults[0]).toBe(
      'P4 job-1 0:1 is handed out again, the cursor was at 1',
    );
  });
});

describe('P5: ranges tile the window', () => {
  it('at every look', () => {
    expect(new Story().running.changed({ end: 2n as never }).faults[0]).toBe(
      'P5 the ranges of job-1 in partition 0 end at 2, not at 3',
    );
    expect(
      new Story().running.changed({ start: 0n as never, cursor: 0n as never, horizon: 0n as never }).faults[0],
    ).toBe('P5 job-1 0:0 does not begin where the one before ends, at -1');
  });
});

describe('P6: order', () => {
  const keys = [{ key: 'a' }, { key: 'b' }, { key: 'a' }, { key: null }];

  it('under partition, each after the one before is settled', () => {
    const { faults } = new Story({ ordering: 'partition' }).running
      .granted()
      .claimed(3)
      .delivered(0)
      .delivered(1, { call: 1 });
    expect(faults[0]).toBe('P6 job-1 0:1 is handed out before 0 is settled, under ordering partition');
  });

  it('under key, only those of its key count', () => {
    const story = new Story({ ordering: 'key' }, keys).running.granted().claimed(3).delivered(0);
    expect(story.delivered(1, { call: 1 }).delivered(3, { call: 3 }).faults).toHaveLength(1);
    expect(story.delivered(2, { call: 2 }).faults[0]).toBe(
      'P6 job-1 0:2 is handed out before 0 is settled, under ordering key',
    );
  });

  it('what comes in one call of a batch handler is in order', () => {
    const story = new Story({ ordering: 'partition' }).running.granted().claimed(3);
    expect(story.delivered(0, { call: 7 }).delivered(1, { call: 7 }).faults).toHaveLength(1);
  });
});

describe('P7: the log', () => {
  it('is not cut above what an unfinished job needs', () => {
    expect(new Story().running.cut(1).faults[0]).toBe('P7 cut below 1 in orders/0, a restore of job-1 needs 0');
    expect(whole().completed().cut(4).faults).toEqual([]);
  });

  it('has no floor ahead of an acknowledged checkpoint, or of a parked record', () => {
    const settled = whole();
    expect(settled.floor(1).faults[0]).toBe('P7 the floor of job-1 in partition 0 is 1, a restore needs 0');
    const parked = new Story().running
      .granted()
      .claimed(1)
      .handled(1)
      .advanced(1, { park: [0] });
    const durable = parked.checkpointed({
      cursor: 1n,
      version: 500n,
      parked: [{ offset: 0n, attempt: 3, dueAtMs: 0n, faultClass: 'transient', keyHash: '' }],
    });
    expect(durable.floor(0).faults).toHaveLength(1);
    expect(durable.floor(1).faults[0]).toBe('P7 the floor of job-1 in partition 0 is 1, a restore needs 0');
  });

  it('is lost only when somebody else cut it', () => {
    const lost = [{ partition: 0, first: 0n, last: 1n }];
    expect(new Story().running.durable({ state: 'UNRECOVERABLE', reason: 'OFFSETS_LOST', lost }).faults).toEqual([
      'P7 job-1 is UNRECOVERABLE, and nobody else cut its topic: OFFSETS_LOST',
      'P7 job-1 lost records, and nobody else cut its topic',
      'P7 job-1 says that 0:0-1 is lost, the log begins at 0',
    ]);
    const cut = new Story().running.cut(2, 'stranger');
    expect(cut.durable({ state: 'UNRECOVERABLE', reason: 'OFFSETS_LOST', lost }).faults).toEqual([]);
  });
});

describe('P7: what a job passes as lost', () => {
  const cutUnder = () =>
    new Story({ onLost: 'skip' }).running.granted().claimed(3).handled(0).advanced(0).cut(3, 'stranger');
  const passed = () => cutUnder().advanced(2, { lost: [1, 2] });
  const ended = () => passed().handled(3).advanced(3);

  it('is named offset by offset, in its ranges and in its result', () => {
    expect(ended().completed().faults).toEqual([]);
    expect(ended().completed({}, { lost: [] }).faults).toEqual([
      'P10 job-1 counts 2 lost offsets and names 0',
      'P7 job-1 0:1 was neither settled nor named as lost',
      'P7 job-1 0:2 was neither settled nor named as lost',
    ]);
    const shifted = [{ partition: 0, first: 0n, last: 1n }];
    expect(ended().completed({}, { lost: shifted }).faults).toEqual([
      'P7 job-1 0:2 was neither settled nor named as lost',
    ]);
  });

  it('has a place for each that is counted', () => {
    expect(passed().changed({ passed: [] }).faults[0]).toBe('P10 job-1 0:-1 counts 2 lost offsets and names 0');
    const counters = { ...NO_COUNTS, ok: 1n, lost: 2n };
    expect(passed().checkpointed({ cursor: 2n, counters, version: 900n }).faults[0]).toBe(
      'P8 the checkpoint of job-1 0:-1 counts 2 lost offsets and names 0',
    );
  });

  it('is gone, passed, and not parked', () => {
    const early = new Story({ onLost: 'skip' }).running
      .granted()
      .claimed(3)
      .advanced(1, { lost: [0, 1] });
    expect(early.faults).toContain('P7 job-1 0:-1 passed 0-1 as lost, the log begins at 0');
    const ahead = passed().changed({ passed: [{ first: toOffset(2), last: toOffset(3) }] });
    expect(ahead.faults).toContain('P7 job-1 0:-1 passed 2-3 as lost, and its cursor is 2');
    const parked = [{ offset: toOffset(2), attempt: 1, dueAtMs: 0, faultClass: 'transient', keyHash: '' }];
    expect(passed().changed({ parked }).faults).toContain(
      'P7 job-1 0:-1 passed 1-2 as lost, of which it has parked records',
    );
  });

  it('is nothing that its owner had settled', () => {
    expect(
      cutUnder()
        .handled(1)
        .advanced(2, { lost: [1, 2] }).faults[0],
    ).toBe('P7 job-1 0:-1 passed 1 as lost, which its owner had settled');
  });
});

describe('P8: what is durable', () => {
  it('is enough for a restore', () => {
    expect(new Story().running.checkpointed({ cursor: 1n, status: 'done', version: 5n }).faults[0]).toBe(
      'P8 the checkpoint of job-1 0:-1 is done at 1, its end is 3, with 0 parked',
    );
  });

  it('is not older than an interval when the store is lost, if nothing disturbed the distributor', () => {
    const settled = new Story().running.granted().claimed(1).handled(0, 1).advanced(1);
    expect(settled.later(9_000).tell({ kind: 'store lost', how: 'emptied' }).faults[0]).toMatch(
      /^P8 the checkpoint of job-1 .* is version 1 when the store is lost, \d+ was there 2500 ms before$/,
    );
    const durable = new Story().running.granted().claimed(1).handled(0, 1).advanced(1);
    durable.checkpointed({ cursor: 1n, version: 999n }).later(9_000);
    expect(durable.tell({ kind: 'store lost', how: 'emptied' }).faults).toHaveLength(1);
  });

  it('is what a restore goes back to, and no further', () => {
    const story = new Story().running
      .granted()
      .claimed(1)
      .handled(0, 1)
      .advanced(1)
      .checkpointed({ cursor: 1n, version: 5n });
    expect(story.installed().faults[0]).toBe('P8 job-1 0:-1 is filled in at -1, its checkpoint is at 1');
  });
});

describe('P10: numbers', () => {
  it('explain every offset at every look', () => {
    const { faults } = new Story().running
      .granted()
      .claimed(1)
      .handled(0, 1)
      .advanced(1, { counts: { ok: 1n } });
    expect(faults[0]).toBe('P10 job-1 0:-1 passed 2 offsets and counts 1');
  });

  it('are those of the log, each under its name', () => {
    expect(whole().completed({ ok: 3n, skipped: 1n }).faults).toEqual([
      'P10 job-1 counts 3 done, in the log there are 4',
      'P10 job-1 counts 1 skip, in the log there are 0',
    ]);
    expect(whole().completed({ ok: 3n }).faults[0]).toBe('P10 job-1 covers 4 offsets, its totals explain 3');
  });

  it('have nothing parked at the end', () => {
    const story = new Story().running
      .granted()
      .claimed(3)
      .handled(0, 1, 3)
      .advanced(3, { park: [2] });
    expect(story.completed().faults).toContain('P10 job-1 is COMPLETED with 1 parked records');
  });
});

describe('states', () => {
  it('follow the drawing, and the first end stands', () => {
    expect(new Story().requested().durable({ state: 'RUNNING' }).faults[0]).toBe('job-1 went from  to RUNNING');
    expect(whole().completed().durable({ state: 'CANCELLED' }).faults[0]).toBe(
      'job-1 went from COMPLETED to CANCELLED',
    );
  });

  it('have one window for ever', () => {
    const pin = { pinnedAtMs: 0n, topicId: 'topic-id-1', partitions: [], unsentKeys: 0n, unsent: [] };
    expect(new Story().running.durable({ state: 'PAUSED', pin }).faults[0]).toBe(
      'P1 the window of job-1 was changed after the pin',
    );
  });

  it('come to an end', () => {
    expect(new Story().running.faults).toEqual(['job-1 came to no end (reached): RUNNING ']);
  });
});
