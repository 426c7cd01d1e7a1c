import { expect, it } from 'vitest';
import { parsePrinted } from './apache.ts';

const HEADERS = 'ce_id:4f1c,ce_type:said,ce_source:/tidemark/n/outbox,ce_time:2026-01-01T00:00:00Z,tm_position:7';

it('a line of the console consumer is a record with its id, byte by byte', () => {
  expect(parsePrinted(`Partition:2\tOffset:17\t${HEADERS}\thot:1\t\\x00\\x00\\x00\\x00\\x05a\\x5C`)).toEqual({
    partition: 2,
    offset: 17n,
    id: '4f1c',
    key: 'hot:1',
    value: Buffer.from([0, 0, 0, 0, 5, 0x61, 0x5c]),
  });
});

it('no value is a tombstone', () => {
  expect(parsePrinted(`Partition:0\tOffset:0\t${HEADERS}\tk\t~no value~`).value).toBeNull();
});

it.each([
  ['a record without an id', 'Partition:0\tOffset:0\tNO_HEADERS\tk\tv'],
  ['anything else', 'Processed a total of 3 messages'],
])('%s is refused', (_, line) => {
  expect(() => parsePrinted(line)).toThrow(/unexpected line/);
});
