import { toOffset } from '@tidemark/keyspace';
import type { OngoingTransaction } from '@tidemark/log';
import { describe, expect, it } from 'vitest';
import {
  type Evidence,
  type HangingPart,
  type PartEnd,
  type Touched,
  touchedBy,
  touchedOf,
  touchedText,
  verdictOn,
} from './hanging.ts';

const ongoing = (topic: string, partition: number, firstOffset = 7): OngoingTransaction => {
  return {
    topic,
    partition,
    producerId: 1n,
    producerEpoch: 3,
    coordinatorEpoch: 0,
    firstOffset: toOffset(firstOffset),
  };
};
const part = (partition: number, row: string | undefined): HangingPart => ({
  ongoing: ongoing('events', partition),
  row,
});
const HELD = ongoing('n.relay', 0, 40);
const TOUCHED: Touched = new Map([['events', new Map([[0, '10'], [1, '12'], [2, '15']])]]); // biome-ignore format: a table

function evidence(fields: Partial<Evidence>): Evidence {
  return { position: [], events: [], newest: undefined, ends: [], wasPublished: true, rowsLeft: 'no', ...fields };
}

const committed = { isHeldBack: false, offset: 30n, touched: TOUCHED };
const heldBack = { isHeldBack: true, offset: 40n, touched: TOUCHED };

function outcomes(fields: Partial<Evidence>): readonly string[] | string {
  const verdict = verdictOn(evidence(fields));
  if (verdict.kind === 'undecided') return verdict.reason;
  return verdict.endings.map((ending) => `${ending.outcome} ${ending.ongoing.topic}/${ending.ongoing.partition}`);
}

describe('G17: how a transaction that hangs must end', () => {
  it('P9: one fate with the position that is readable, and abort for what no readable position knows', () => {
    expect(outcomes({ newest: committed, events: [part(1, '12'), part(2, '99'), part(0, undefined)] })).toEqual([
      'commit events/1',
      'abort events/2',
      'abort events/0',
    ]);
    expect(outcomes({ newest: undefined, events: [part(1, '12')], wasPublished: false })).toEqual(['abort events/1']);
  });

  it('P9: a position that is held back ends as its transaction did elsewhere, first of all parts', () => {
    const events = [part(1, '12')];
    const held = (ends: readonly PartEnd[]) => outcomes({ position: [HELD], newest: heldBack, events, ends });
    expect(held(['commit', 'open', 'not found'])).toEqual(['commit n.relay/0', 'commit events/1']);
    expect(held(['abort', 'open', 'not found'])).toEqual(['abort n.relay/0', 'abort events/1']);
    expect(held(['open'])).toEqual(['abort n.relay/0', 'abort events/1']);
  });

  it('P9: one whose rows may have left the outbox is committed where nothing else tells, and never aborted', () => {
    const held = (fields: Partial<Evidence>) => outcomes({ position: [HELD], newest: heldBack, ...fields });
    expect(held({ ends: ['open'], rowsLeft: 'yes' })).toEqual(['commit n.relay/0']);
    expect(held({ ends: ['open', 'abort'], rowsLeft: 'yes' })).toMatch(/settled once, and is aborted/);
    expect(held({ ends: ['open'], rowsLeft: 'perhaps' })).toMatch(/freed parked keys/);
    expect(held({ ends: ['open', 'commit'], rowsLeft: 'perhaps' })).toEqual(['commit n.relay/0']);
  });

  it('P9: is never guessed', () => {
    const held = (fields: Partial<Evidence>) => outcomes({ position: [HELD], newest: heldBack, ...fields });
    expect(held({ ends: ['commit', 'abort'] })).toMatch(/committed here and aborted there/);
    expect(held({ ends: ['open', 'not found'] })).toMatch(/none shows how/);
    expect(held({ events: [part(1, '13')] })).toMatch(/more than one transaction/);
    expect(held({ position: [HELD, HELD] })).toMatch(/several/);
    expect(held({ newest: { ...heldBack, offset: 41n } })).toMatch(/more than one record/);
    expect(held({ newest: { ...heldBack, touched: undefined } })).toMatch(/did not say/);
    expect(outcomes({ newest: { ...committed, touched: undefined }, events: [part(1, '12')] })).toMatch(/did not say/);
  });

  it('leaves everything as it is where nothing hangs, or positions are lost', () => {
    expect(outcomes({ newest: { ...committed, touched: undefined } })).toEqual([]);
    expect(outcomes({ newest: undefined, events: [part(1, '12')] })).toEqual([]);
  });
});

it('tells the first row of each partition in a header of the position', () => {
  const record = (partition: number, row: string) => {
    const headers: [string, Buffer][] = [['tm_position', Buffer.from(row)]];
    return { topic: 'events', partition, key: null, value: null, headers };
  };
  const touched = touchedBy([record(0, '10'), record(1, '12'), record(0, '14'), record(2, '15')]);
  expect(touched).toEqual(TOUCHED);
  expect(touchedOf({ headers: [['tm_touched', Buffer.from(touchedText(touched))]] })).toEqual(TOUCHED);
  expect(touchedOf({ headers: [] })).toBeUndefined();
});
