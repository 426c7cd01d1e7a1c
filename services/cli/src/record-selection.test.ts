import type { PlannedWindow } from '@tidemark/control';
import { parseWindow } from '@tidemark/jobs';
import { partitionOfKey, toOffset } from '@tidemark/keyspace';
import type { LogRecord } from '@tidemark/log';
import { expect, it } from 'vitest';
import { recordPlace } from './arguments.ts';
import { hexBytes, type SelectionOptions, selectRecords } from './record-selection.ts';

/** Offsets 3 to 9 of four partitions. */
function plan(texts: { readonly from: string; readonly to: string } = { from: 'earliest', to: 'now' }): PlannedWindow {
  const parsed = parseWindow(texts);
  if (parsed.kind === 'refused') throw new Error(parsed.reasons.join('; '));
  return {
    kind: 'planned',
    topic: { topic: 't', topicId: 'id', partitionCount: 4 },
    spec: parsed.spec,
    partitions: [0, 1, 2, 3].map((partition) => ({
      partition,
      start: toOffset(2),
      end: toOffset(9),
      logStartOffset: toOffset(3),
      highWatermark: toOffset(10),
      clamped: '',
    })),
  };
}

function scanned(options: SelectionOptions): readonly string[] {
  return selectRecords(plan(), options).windows.map(({ partition, start, end }) => `${partition}:${start}-${end}`);
}

function record(key: Buffer | string | null, timestampMs = 0): LogRecord {
  const bytes = typeof key === 'string' ? Buffer.from(key) : key;
  return { offset: toOffset(5), timestampMs: BigInt(timestampMs), key: bytes, value: null, headers: [] };
}

it('scans all partitions, one, or that of the key by murmur2', () => {
  const all = ['0:2-9', '1:2-9', '2:2-9', '3:2-9'];
  expect(scanned({})).toEqual(all);
  expect(scanned({ partition: 2 })).toEqual(['2:2-9']);
  expect(scanned({ key: 'k' })).toEqual(all);
  const own = partitionOfKey(Buffer.from('k'), 4);
  expect(scanned({ key: 'k', partitioner: 'murmur2' })).toEqual([`${own}:2-9`]);
});

it('goes on in the middle of a window, and leaves what is before', () => {
  expect(scanned({ continue: recordPlace('1:7') })).toEqual(['1:6-9', '2:2-9', '3:2-9']);
  expect(scanned({ continue: recordPlace('1:0') })).toEqual(['1:2-9', '2:2-9', '3:2-9']);
  expect(scanned({ continue: recordPlace('3:99') })).toEqual(['3:98-9']);
});

it('D2: compares keys by bytes: none, nothing and bytes that are no text are three keys', () => {
  const keys = [null, '', 'null', Buffer.from([0, 255, 254])];
  const found = (options: SelectionOptions) => keys.map((key) => selectRecords(plan(), options).wants(record(key)));
  expect(found({})).toEqual([true, true, true, true]);
  expect(found({ key: '' })).toEqual([false, true, false, false]);
  expect(found({ key: 'null' })).toEqual([false, false, true, false]);
  expect(found({ keyHex: hexBytes('00fFfe') })).toEqual([false, false, false, true]);
});

it('of a window by time takes the records of that time, wherever they are', () => {
  const { wants } = selectRecords(plan({ from: '1700000000000', to: '1700000001000' }), {});
  const at = (ms: number) => wants(record(null, 1_700_000_000_000 + ms));
  expect([-1, 0, 999, 1_000].map(at)).toEqual([false, true, true, false]);
});

it('refuses what makes no sense, and says what would', () => {
  const refused = (options: SelectionOptions) => () => selectRecords(plan(), options);
  expect(refused({ partition: 4 })).toThrow('topic t has no partition 4: it has 4, counted from 0');
  expect(refused({ key: 'k', keyHex: hexBytes('00') })).toThrow('give --key or --key-hex');
  expect(refused({ partitioner: 'murmur2' })).toThrow('needs --key or --key-hex');
  expect(refused({ partition: 1, continue: recordPlace('2:5') })).toThrow('--continue 2:5 is no place of this window');
  expect(() => hexBytes('0')).toThrow('pairs of hexadecimal digits');
  expect(() => recordPlace('5')).toThrow('PARTITION:OFFSET');
});
